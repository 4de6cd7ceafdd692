"""What cannot be applied holds nobody up: it is dropped, and whatever came with it is applied."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import asyncpg
import pytest

from stead.bus.messages import FromAgent, Hello, Report, ReportResult
from stead.controller.execution.faults import at_fault
from stead.controller.execution.transition import Answer, TransitionInput
from stead.dev.engines import Nats
from stead.lifecycle.snapshot import Fence
from tests.drivers.cloud import SimWorld
from tests.integration.whole import controller, until


async def test_a_message_that_fails_is_dropped_and_the_others_are_not(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 0
    async with controller(migrated, nats_server, cell) as one:
        apply = one.executor.apply

        async def fails(told: Sequence[TransitionInput]) -> list[Answer]:
            nonlocal tried
            if any(said.path == "/poison" for said in told):
                tried += 1
                raise asyncpg.DataError("no such number")
            return await apply(told)

        monkeypatch.setattr(one.executor, "apply", fails)
        before = one.bus.invalid_messages.count
        bad = Report("a1", 1, 1, "l", [ReportResult("/poison", Fence(1, 1), "succeeded")])
        good: list[FromAgent] = [Hello(f"agent-{number}", 1, ["l"], "1") for number in range(20)]
        await asyncio.gather(*(one.bus.publish_report(message) for message in [*good[:10], bad, *good[10:]]))

        async def all_met() -> bool:
            return len(await one.store.agents.read_all()) == 20

        await until(all_met)
        assert one.bus.invalid_messages.count == before + 1
        now = tried
        await asyncio.sleep(6)  # sleep: longer than what is not acknowledged takes to come again
        assert tried == now


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ValueError("x"), True),
        (OverflowError("x"), True),
        (asyncpg.DataError("x"), True),
        (asyncpg.StatementTooComplexError("x"), True),
        (asyncpg.CheckViolationError("x"), True),
        (asyncpg.DeadlockDetectedError("x"), False),
        (asyncpg.AdminShutdownError("x"), False),
        (asyncpg.InterfaceError("x"), False),
        (ConnectionResetError("x"), False),
        (TimeoutError("x"), False),
    ],
)
def test_what_is_away_is_not_at_fault(error: Exception, fault: bool) -> None:
    assert at_fault(error) is fault
