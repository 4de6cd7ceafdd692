"""An operation ended before it is done, and one tried once more: through the door, against the real store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest

from stead.catalog import KINDS
from stead.controller.admission.request import Accepted, NotFound
from stead.controller.execution.transition import Applied, TransitionInput
from stead.controller.steps import lease_spec as terms_of
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.events import Report, Request
from stead.lifecycle.rows import ABSENT, Actor, Trigger
from stead.lifecycle.snapshot import OnFailure, Phase
from tests.action_requests import cancel, requested
from tests.action_requests import retry as requests_retry
from tests.controller.test_carrying import CUSTODY, PATH, YOU, Engine, engine
from tests.controller.test_truth import put
from tests.leases.lab import terms

USER, ADMIN = Actor.USER, Actor.ADMIN

SITE = PATH.rpartition("/")[0]


async def begun(e: Engine, action: str, path: str = PATH, kind: str = "vm", **asked: Any) -> UUID:
    """An operation under way; its id."""
    request = {name: asked.pop(name) for name in ("force", "reason", "on_failure") if name in asked}
    spec = asked.pop("spec", {"size": 1})
    answer = await e.admission.admit(
        *requested(kind, path, Request(action, **request), "ann", spec, "sim.a", **asked)
    )
    assert isinstance(answer, Accepted), answer
    return UUID(answer.operation)


async def running(e: Engine) -> None:
    await begun(e, "create")
    await done(e)
    e.sent.clear()


async def done(e: Engine) -> None:
    fence = await e.take()
    assert fence is not None
    await e.say(Trigger.SUCCEEDED, fence)


async def look(e: Engine, seen: str) -> None:
    """An agent takes the probe and says what is there."""
    fence = await e.take(YOU)
    assert fence is not None
    await e.say(Trigger.OBSERVED, fence, seen)


async def record(e: Engine, id: UUID) -> Mapping[str, Any]:
    found = await e.store.operations.read(id)
    assert found is not None
    return found


async def lines(e: Engine) -> list[Mapping[str, Any]]:
    await e.store.journal.number()
    return await e.store.journal.read(0, limit=1000)


async def refused(e: Engine, id: UUID, code: Code, actor: Actor = USER) -> Rejection:
    answer = await cancel(e.admission, id, "bob", actor)
    assert isinstance(answer, Rejection), answer
    assert answer.code is code
    return answer


# Cancel


async def test_an_order_that_nobody_took_is_withdrawn_and_the_object_looked_at(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        id = await begun(e, "suspend")
        assert await cancel(e.admission, id, "bob") == Accepted(str(id))
        row = await e.row()
        assert row.snapshot.operation is not None
        assert (row.snapshot.operation.phase, row.snapshot.operation.cancelled) == (Phase.PROBING, True)
        assert [order["verb"] for order in e.sent] == ["suspend", "probe"]
        await look(e, "Running")
        ended = await record(e, id)
        assert (ended["outcome"], ended["failed"], ended["remaining"]) == ("cancelled", 1, 0)
        row = await e.row()
        assert (row.snapshot.state, row.snapshot.operation, row.order_id, row.timers) == ("Running", None, 0, {})
        assert await e.store.claims.list_below("/", 9) == []


@pytest.mark.req("X-04")
async def test_whoever_has_the_order_is_waited_out_and_cannot_write(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        id = await begun(e, "suspend")
        old = await e.take()
        assert old is not None
        await cancel(e.admission, id, "bob")
        assert isinstance(await e.say(Trigger.SUCCEEDED, old), Rejection)
        assert await e.later(CUSTODY - 1) == 0
        assert await e.later(2) == 1
        await look(e, "Suspended")  # it had been done, and nobody had heard of it
        assert ((await record(e, id))["outcome"], (await e.row()).snapshot.state) == ("succeeded", "Suspended")


async def test_where_nobody_answers_it_settles_as_for_silence(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        id = await begun(e, "suspend")
        await cancel(e.admission, id, "bob")
        for _ in range(20):
            await e.later(60)
        assert ((await record(e, id))["outcome"], (await e.row()).snapshot.state) == ("cancelled", "Undefined")


async def test_another_controller_carries_it_on(migrated: str) -> None:
    async with engine(migrated) as one:
        await running(one)
        id = await begun(one, "suspend")
        await one.take()
        await cancel(one.admission, id, "bob")
    async with engine(migrated) as two:
        two.now = one.now
        await two.later(CUSTODY + 1)
        await look(two, "Running")
        assert (await record(two, id))["outcome"] == "cancelled"


async def test_the_journal_says_who_cancelled_and_is_still_a_legal_walk(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        id = await begun(e, "suspend")
        for _ in range(3):  # once or more often
            await cancel(e.admission, id, "bob", ADMIN)
        await look(e, "Running")
        told = await lines(e)
        notes = [x for x in told if x["source"] == x["target"]]
        assert [(x["trigger"], x["detail"], x["principal"], x["actor"], x["operation"]) for x in notes] == [
            ("cancel", "suspend", "bob", "admin", id)
        ]
        walk = [x for x in told if x["source"] != x["target"]]
        rows = {(m.source, m.trigger, m.on, m.target) for m in KINDS["vm"].table}
        assert {(x["source"], x["trigger"], x["detail"], x["target"]) for x in walk} <= rows
        assert [x["target"] for x in walk] == ["Creating", "Running", "Suspending", "Running"]


async def test_what_is_cancelled_twice_joins(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        id = await begun(e, "suspend")
        await cancel(e.admission, id, "bob")
        version = (await e.row()).version
        assert await cancel(e.admission, id, "eve") == Accepted(str(id), joined=True)
        assert (await e.row()).version == version


async def test_a_cancel_that_comes_too_late_hears_how_it_ended(migrated: str) -> None:
    async with engine(migrated) as e:
        id = await begun(e, "create")
        await done(e)
        says = f"create of {PATH} ended succeeded: there is nothing to cancel"
        refusal = await refused(e, id, Code.ENDED)
        assert (refusal.reasons[0].message, refusal.state) == (says, "Running")
        await begun(e, "suspend")
        await refused(e, id, Code.ENDED)  # another is under way now
        (told,) = [x for x in await lines(e) if x["rejections"]]
        assert (told["trigger"], told["detail"], told["principal"], told["rejections"]) == (
            "rejected",
            "cancel",
            "bob",
            2,
        )
        assert told["change"]["reasons"] == [{"code": "ended", "message": says}]
        assert isinstance(await cancel(e.admission, uuid4(), "bob"), NotFound)


async def test_the_record_of_a_resource_may_be_gone(migrated: str) -> None:
    async with engine(migrated) as e:
        await put(migrated, SITE, kind="cloudlet", state="Ready")
        id = await begun(e, "create", kind="clusterinst")
        await cancel(e.admission, id, "bob")
        await look(e, ABSENT)
        await done(e)  # the undo
        assert await e.store.resources.read(PATH) is None
        assert (await record(e, id))["outcome"] == "rolled_back"
        assert "ended rolled_back" in (await refused(e, id, Code.ENDED)).reasons[0].message


async def test_only_who_may_ask_may_cancel(migrated: str) -> None:
    async with engine(migrated) as e:
        await begun(e, "deploy", kind="cloudspace")
        await done(e)
        wish = requested("cloudspace", PATH, Request("pause", ADMIN), "root")
        answer = await e.admission.admit(*wish)
        assert isinstance(answer, Accepted)
        id = UUID(answer.operation)
        assert (await refused(e, id, Code.NOT_THE_ACTOR)).state == "PAUSING"
        assert await cancel(e.admission, id, "root", ADMIN) == Accepted(str(id))


async def test_what_awaits_others_that_follow_cannot_be_cancelled_yet(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.store.hosts.put("h1", "rack.a", {}, None)
        await begun(e, "create", "/ns/lease", "lease", spec=terms(100, 1000))
        row = await e.store.resources.read("/ns/lease")
        assert row is not None
        booked = terms_of.read(row.spec).booked()
        assert await e.store.leases.book("/ns/lease", row.snapshot.fence.counter, booked, time.time()) is True
        done_creating = Report(Trigger.SUCCEEDED, row.snapshot.fence, actor=Actor.CONTROLLER)
        await e.executor.apply([TransitionInput("/ns/lease", done_creating)])
        id = await begun(e, "delete", "/ns/lease", "lease")
        assert "waits for others" in (await refused(e, id, Code.NOT_CANCELLABLE)).reasons[0].message


@pytest.mark.long
async def test_a_cancel_that_races_with_the_end_wins_or_comes_too_late(migrated: str) -> None:
    """Through two controllers, a hundred times: never both, never neither."""
    async with engine(migrated) as one, engine(migrated) as two:
        await running(one)
        for i, (action, state) in enumerate((("suspend", "Suspended"), ("resume", "Running")) * 50):
            id = await begun(one, action)
            fence = await one.take()
            assert fence is not None
            cancelling = cancel(two.admission, id, "bob")
            report = one.say(Trigger.SUCCEEDED, fence)
            first = asyncio.create_task(cancelling if i % 2 else report)
            second = asyncio.create_task(report if i % 2 else cancelling)
            both = await first, await second
            won, heard = any(isinstance(x, Accepted) for x in both), any(isinstance(x, Applied) for x in both)
            assert won != heard
            if won:
                two.now = one.now = one.now + CUSTODY + 1
                await two.clock.tick()
                await look(one, state)
            assert ((await record(one, id))["outcome"], (await one.row()).snapshot.state) == ("succeeded", state)


# Retry


async def retry(e: Engine, id: UUID, key: str = "", actor: Actor = USER) -> Accepted | Rejection | NotFound:
    return await requests_retry(e.admission, id, "bob", actor, key)


async def cancelled(e: Engine) -> UUID:
    """A suspend that was cancelled; the VM runs."""
    await running(e)
    id = await begun(e, "suspend", reason="night")
    await cancel(e.admission, id, "ann")
    await look(e, "Running")
    return id


async def test_what_was_cancelled_is_tried_once_more_by_the_caller(migrated: str) -> None:
    async with engine(migrated) as e:
        id = await cancelled(e)
        again = await retry(e, id)
        assert isinstance(again, Accepted)
        assert again.operation != str(id)
        new = await record(e, UUID(again.operation))
        assert (new["action"], new["principal"], new["reason"]) == ("suspend", "bob", "night")
        assert new["request"]["retries"] == str(id)
        await done(e)
        assert (await e.row()).snapshot.state == "Suspended"


async def test_what_is_under_way_or_done_is_not_retried(migrated: str) -> None:
    async with engine(migrated) as e:
        id = await begun(e, "create")
        for says in ("is still under way", "is done"):
            answer = await retry(e, id)
            assert isinstance(answer, Rejection)
            assert (answer.code, answer.state) == (Code.NOT_RETRYABLE, (await e.row()).snapshot.state)
            assert says in answer.reasons[0].message
            if says == "is still under way":
                await done(e)
        assert isinstance(await retry(e, uuid4()), NotFound)
        assert [x["detail"] for x in await lines(e) if x["rejections"]] == ["retry", "retry"]


async def test_a_failed_vm_takes_only_what_its_lifecycle_allows(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        id = await begun(e, "suspend")
        fence = await e.take()
        assert fence is not None
        await e.say(Trigger.FAILED, fence)
        answer = await retry(e, id)
        assert isinstance(answer, Rejection)
        assert (answer.code, answer.state) == (Code.WRONG_STATE, "Failed")
        assert answer.reasons[0].message == "suspend cannot start in Failed"


@pytest.mark.req("S0-06")
async def test_force_is_tried_again_as_force_with_its_reason(migrated: str) -> None:
    async with engine(migrated) as e:
        await begun(e, "create")
        for _ in range(2):
            fence = await e.take()
            assert fence is not None
            await e.say(Trigger.FAILED, fence)
            assert (await e.row()).snapshot.state == "Failed"
            id = await begun(e, "terminate", force=True, reason="rack is gone")
        fence = await e.take()
        assert fence is not None
        await e.say(Trigger.FAILED, fence)
        again = await retry(e, id)
        assert isinstance(again, Accepted)
        new = await record(e, UUID(again.operation))
        assert (new["request"]["force"], new["reason"]) == (True, "rack is gone")


async def test_a_creation_that_was_undone_is_tried_again_with_its_spec(migrated: str) -> None:
    async with engine(migrated) as e:
        await put(migrated, SITE, kind="cloudlet", state="Ready")
        id = await begun(e, "create", kind="clusterinst", spec={"flavor": "m"})
        fence = await e.take()
        assert fence is not None
        await e.say(Trigger.FAILED, fence)
        await done(e)  # the undo
        assert await e.store.resources.read(PATH) is None
        assert isinstance(await retry(e, id), Accepted)
        row = await e.row()
        assert (row.spec, row.lane, row.snapshot.state) == ({"flavor": "m"}, "sim.a", "CreateRequested")


async def test_what_to_do_about_failure_is_remembered(migrated: str) -> None:
    async with engine(migrated) as e:
        await put(migrated, SITE, kind="cloudlet", state="Ready")
        id = await begun(e, "create", kind="clusterinst", on_failure=OnFailure.KEEP)
        await cancel(e.admission, id, "bob")
        await look(e, ABSENT)
        assert (await record(e, id))["outcome"] == "cancelled"
        answer = await retry(e, id)
        assert isinstance(answer, Rejection)  # in CreateError it is to be undone first
        assert (await e.row()).snapshot.state == "CreateError"


# Keys


@pytest.mark.req("X-10")
async def test_a_retry_under_a_key_is_let_in_once(migrated: str) -> None:
    async with engine(migrated) as e:
        id = await cancelled(e)
        answers = await asyncio.gather(*(retry(e, id, "k-1") for _ in range(5)))
        assert len({a.operation for a in answers if isinstance(a, Accepted)}) == 1
        await done(e)
        late = await retry(e, id, "k-1")
        assert isinstance(late, Accepted)
        assert late.repeated


@pytest.mark.req("X-10")
async def test_the_key_of_the_first_try_is_not_one_for_the_second(migrated: str) -> None:
    async with engine(migrated) as e:
        await running(e)
        id = await begun(e, "suspend", key="k-1")
        await cancel(e.admission, id, "ann")
        await look(e, "Running")
        answer = await requests_retry(e.admission, id, "ann", USER, "k-1")
        assert isinstance(answer, Rejection)
        assert answer.code is Code.KEY_REUSED


@pytest.mark.req("X-10")
async def test_a_key_that_joined_is_used_up_by_what_it_joined(migrated: str) -> None:
    """Else the same request, repeated after a lost answer, would reboot the machine a second time."""
    async with engine(migrated) as e:
        await running(e)
        id = await begun(e, "reboot")
        wish = requested("vm", PATH, Request("reboot"), "bob", {}, "sim.a", "k-1")
        assert await e.admission.admit(*wish) == Accepted(str(id), joined=True)
        await done(e)
        assert await e.admission.admit(*wish) == Accepted(str(id), repeated=True)
        assert (await e.row()).snapshot.operation is None
