"""Force overrides the state of a VM, and nothing else: against the real store."""

from __future__ import annotations

from uuid import UUID

import pytest

from stead.controller.admission.request import Accepted
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.events import Request
from stead.lifecycle.rows import ABSENT, Trigger
from tests.action_requests import requested
from tests.controller.test_cancel import begun, done, lines, look, record, running
from tests.controller.test_carrying import PATH, Engine, engine


async def forced(e: Engine, action: str, path: str = PATH, reason: str = "rack is gone") -> Accepted | Rejection:
    wish = requested("vm", path, Request(action, force=True, reason=reason), "eve", {}, "sim.a")
    answer = await e.admission.admit(*wish)
    assert isinstance(answer, Accepted | Rejection)
    return answer


def verbs(e: Engine) -> list[str]:
    return [order["verb"] for order in e.sent]


@pytest.mark.req("S0-16")
async def test_force_skips_the_check_of_the_state(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        wish = requested("vm", PATH, Request("resume"), "eve", {}, "sim.a")
        refusal = await e.admission.admit(*wish)
        assert isinstance(refusal, Rejection)
        assert refusal.code is Code.WRONG_STATE
        assert isinstance(await forced(e, "resume"), Accepted)
        assert (await e.row()).snapshot.state == "Resuming"


@pytest.mark.req("S0-16")
async def test_force_never_skips_the_claim(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        id = await begun(e, "suspend")
        for action in ("resume", "terminate"):  # its own operation
            refusal = await forced(e, action)
            assert isinstance(refusal, Rejection)
            assert (refusal.code, refusal.holder and refusal.holder.operation) == (Code.IN_PROGRESS, str(id))
        assert [c["operation"] for c in await e.store.claims.list_below("/", 9)] == [id]
        assert (await e.row()).snapshot.state == "Suspending"


@pytest.mark.req("S0-16")
@pytest.mark.parametrize(("path", "kind"), [("/ns/m", "mci"), (f"{PATH}/disk", "disk")])
async def test_nor_a_claim_above_or_below(migrated: str, path: str, kind: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        id = await begun(e, "create", path, kind)
        refusal = await forced(e, "terminate")
        assert isinstance(refusal, Rejection)
        assert refusal.holder is not None
        assert (refusal.code, refusal.state) == (Code.HELD, "Running")
        assert (refusal.holder.operation, refusal.holder.path) == (str(id), path)
        assert [c["operation"] for c in await e.store.claims.list_below("/", 9)] == [id]


@pytest.mark.req("S0-16")
async def test_force_needs_a_reason(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        refusal = await forced(e, "resume", reason="")
        assert isinstance(refusal, Rejection)
        assert refusal.code is Code.NEEDS_REASON
        assert (await e.row()).snapshot.operation is None


@pytest.mark.req("S0-16")
async def test_force_is_in_the_journal_with_its_reason(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        await forced(e, "resume", reason="")
        answer = await forced(e, "resume")
        assert isinstance(answer, Accepted)
        refused, let_in = (await lines(e))[-2:]
        assert (refused["trigger"], refused["detail"], refused["principal"]) == ("rejected", "resume", "eve")
        assert (let_in["trigger"], let_in["source"], let_in["target"]) == ("request", "Running", "Resuming")
        assert (let_in["principal"], str(let_in["operation"])) == ("eve", answer.operation)
        assert let_in["change"] == {"force": True, "reason": "rack is gone"}
        kept = await record(e, UUID(answer.operation))
        assert (kept["request"]["force"], kept["reason"]) == (True, "rack is gone")


@pytest.mark.req("S0-16")
@pytest.mark.parametrize(
    ("seen", "state", "outcome"),
    [("Running", "Running", "succeeded"), ("Suspended", "Suspended", "failed"), ("broken", "Failed", "failed")],
)
async def test_what_force_did_is_verified(migrated: str, seen: str, state: str, outcome: str) -> None:
    """The agent's word is not enough: somebody looks."""
    async with engine(migrated) as e:
        await running(e)
        answer = await forced(e, "resume")
        assert isinstance(answer, Accepted)
        await done(e)
        assert (verbs(e), (await e.row()).snapshot.state) == (["resume", "probe"], "Resuming")
        await look(e, seen)
        assert ((await e.row()).snapshot.state, (await record(e, UUID(answer.operation)))["outcome"]) == (
            state,
            outcome,
        )


@pytest.mark.req("S0-16", "S0-06")
async def test_a_failed_vm_is_terminated_by_force_and_seen_to_be_gone(migrated: str) -> None:
    async with engine(migrated) as e:
        await begun(e, "create")
        fence = await e.take()
        assert fence is not None
        await e.say(Trigger.FAILED, fence)
        assert isinstance(await forced(e, "terminate"), Accepted)
        await done(e)
        for _ in range(2):
            await look(e, ABSENT)
            assert (await e.row()).snapshot.state == "Terminating"
            await e.later(21)
        await look(e, ABSENT)
        assert (await e.row()).snapshot.state == "Terminated"
