"""Timers that change nothing are put off or set right; a change that cannot be written holds up no other timer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from stead.catalog import KINDS
from stead.controller.execution.transition import Answer, TransitionInput
from stead.controller.reconcilers.timers import RETRY_SECONDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Decision
from stead.lifecycle.events import Request, Take, TimerDue
from stead.lifecycle.rows import Actor
from stead.lifecycle.snapshot import FIRST, Phase, Snapshot
from stead.store.decision_template import compile_decision
from tests.controller.test_carrying import CUSTODY, ME, PATH, Engine, engine
from tests.controller.test_truth import put
from tests.lifecycle.test_decide import after, overlaps

MACHINE = "/acme/space/m"
CLAIM = "INSERT INTO claims (path, mode, operation) SELECT path, 'x', hidden FROM resources WHERE path = $1"


async def change(e: Engine, path: str, **columns: Any) -> None:
    """Write columns of a resource."""
    for name, value in columns.items():
        await e.store.pool.execute(f"UPDATE resources SET {name} = $2 WHERE path = $1", path, value)


async def arm(e: Engine, path: str, **timers: float) -> None:
    """Set the timers of a resource."""
    await e.store.pool.execute(
        "UPDATE resources SET timers = $2::jsonb, due = earliest_timer($2::jsonb) WHERE path = $1", path, timers
    )


async def timers(e: Engine, path: str) -> dict[str, float]:
    (row,) = await e.store.pool.fetch("SELECT timers FROM resources WHERE path = $1", path)
    return dict(row["timers"])


async def test_timer_that_a_state_does_not_have_is_dropped(migrated: str) -> None:
    async with engine(migrated) as e:
        await put(migrated, "/shop/web/front/1")
        await arm(e, "/shop/web/front/1", step=1.0, next=2000.0)
        assert await e.clock.tick() == 0
        assert await timers(e, "/shop/web/front/1") == {"next": 2000.0}
        assert await e.later(2000) == 0
        assert await timers(e, "/shop/web/front/1") == {}
        assert await e.store.timers.due(e.now, 10) == []


async def test_timers_that_a_state_has_start_where_another_was_dropped(migrated: str) -> None:
    async with engine(migrated) as e:
        await put(migrated, MACHINE, kind="machine", state="DELETED")
        await arm(e, MACHINE, step=1.0)
        assert await e.clock.tick() == 0
        assert (await timers(e, MACHINE)).keys() == {"expiry"}


async def test_timer_whose_action_is_rejected_is_tried_again_later(migrated: str) -> None:
    async with engine(migrated) as e:
        await put(migrated, "/acme/space", kind="cloudspace", state="DISABLED")
        await put(migrated, MACHINE, kind="machine", state="DELETED")
        await arm(e, MACHINE, waiting=1.0)
        assert await e.clock.tick() == 0
        assert await timers(e, MACHINE) == {"waiting": e.now + RETRY_SECONDS}
        assert await e.store.timers.due(e.now, 10) == []


async def test_many_timers_that_change_nothing_hide_no_other(migrated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stead.controller.reconcilers.timers.BATCH", 3)
    async with engine(migrated) as e:
        for number in range(4):
            await put(migrated, f"/shop/web/old/{number}")
            await arm(e, f"/shop/web/old/{number}", step=1.0)
        await e.ask("create")
        assert [await e.later(600), await e.clock.tick()] == [0, 1]


async def test_timer_whose_change_cannot_be_written_holds_up_no_other(
    migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(migrated) as e:
        await e.ask("create")
        for name in "ab":
            await put(migrated, f"/shop/web/bad/{name}")
            await arm(e, f"/shop/web/bad/{name}", step=1.0)
        apply = e.executor.apply

        async def fails(told: Sequence[TransitionInput]) -> list[Answer]:
            if any("/bad/" in said.path for said in told):
                raise asyncpg.NotNullViolationError("null value")
            return await apply(told)

        monkeypatch.setattr(e.executor, "apply", fails)
        assert await e.later(600) == 1
        assert await e.store.timers.due(e.now, 10) == []


async def test_custody_that_is_renewed_meanwhile_keeps_its_end(
    migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(migrated) as e:
        await e.ask("create")
        fence = await e.take()
        assert fence is not None
        apply = e.executor.apply
        end = e.now + 10_000

        async def late(told: Sequence[TransitionInput]) -> list[Answer]:
            assert await e.store.orders.renew_custody(ME.agent, ME.epoch, {PATH: fence}, end) == {PATH}
            return await apply(told)

        monkeypatch.setattr(e.executor, "apply", late)
        assert await e.later(CUSTODY + 1) == 0
        assert (await timers(e, PATH))["custody"] == end


async def test_move_that_nobody_answered_ends_beside_a_cancelled_operation(migrated: str) -> None:
    async with engine(migrated) as e:
        await put(migrated, MACHINE, kind="machine", state="ATTACHING_DISK", lane="libvirt.dc")
        waiting = {"phase": "waiting", "action": "attach-disk", "origin": "RUNNING", "cancelled": True}
        probing = {"phase": "probing", "action": "migrate", "origin": "RUNNING"}
        condition = {"op": waiting, "work": {"verb": "probe", "taken": True}, "hidden": probing}
        for column, action in (("operation", "attach-disk"), ("hidden", "migrate")):
            (row,) = await e.store.pool.fetch(
                "INSERT INTO operations (id, action, kind, path, principal, total, remaining)"
                " VALUES (gen_random_uuid(), $2, 'machine', $1, 'ann', 1, 1) RETURNING id",
                MACHINE,
                action,
            )
            await change(e, MACHINE, **{column: row["id"]})
        await change(e, MACHINE, condition=condition)
        await e.store.pool.execute(CLAIM, MACHINE)
        await arm(e, MACHINE, deadline=1.0)
        assert await e.clock.tick() == 1
        (row,) = await e.store.pool.fetch("SELECT state, operation, hidden FROM resources WHERE path = $1", MACHINE)
        assert tuple(row) == ("RUNNING", None, None)
        assert await e.store.claims.list_below("/", 9) == []


@pytest.mark.parametrize("phase", [Phase.PROBING, Phase.ROLLING_BACK, Phase.ACTING])
@pytest.mark.parametrize(("kind", "state", "hidden", "action"), overlaps())
def test_claim_is_handed_to_no_operation_that_ends_at_once(
    kind: str, state: str, hidden: str, action: str, phase: Phase
) -> None:
    lifecycle = KINDS[kind]
    acting = after(lifecycle, Snapshot(state), Request(hidden, Actor.ADMIN, operation="op-1"), Take(FIRST))
    row = lifecycle.action(action)
    assert row is not None
    waiting = after(lifecycle, acting, Request(action, row.actors[0], operation="op-2"))
    assert waiting.operation is not None
    assert waiting.hidden is not None
    for cancelled in (False, True):
        before = Snapshot(
            waiting.state,
            waiting.fence,
            replace(waiting.operation, cancelled=cancelled),
            replace(waiting.hidden, phase=phase),
            waiting.work,
        )
        decision = decide(lifecycle, before, TimerDue("deadline"))
        assert isinstance(decision, Decision)
        template = compile_decision(lifecycle, before, decision, None, None, "", exists=True)
        stands = decision.after.operation or decision.after.hidden
        assert template.body["claim"] != "hands" or stands is not None
