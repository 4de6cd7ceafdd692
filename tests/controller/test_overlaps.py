"""Operations that overlap on members: what settles meanwhile, several that wait, a cancel, a retry, a crash."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest

from stead.controller.admission.request import Accepted
from stead.controller.execution.transition import Applied, TransitionInput
from stead.lifecycle.events import Report, Request
from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import Fence
from stead.store import Change, Store
from stead.store.commit import CommitResult, Expansion
from tests.action_requests import cancel, requested, retry
from tests.controller.test_groups import GROUP, ME, Engine
from tests.controller.test_joining import FLEET, TRUCK
from tests.controller.test_kinds import put


class Yard(Engine):
    """A group, and members on which something is in progress that it did not ask for."""

    async def busy(self, *numbers: int, action: str = "suspend") -> str:
        """In the course of another operation, which holds no claim on them."""
        operation = str(uuid4())
        request = Request(action, within=True, operation=operation)
        answers = await self.executor.apply([TransitionInput(vm(i), request, "ann") for i in numbers])
        assert all(isinstance(answer, Applied) for answer in answers)
        return operation

    async def says(self, *numbers: int, word: Trigger = Trigger.SUCCEEDED) -> None:
        """Agents have done it, or have not, and what follows from that is done."""
        await self.tell(*numbers, word=word)
        await self.idle()

    async def tell(self, *numbers: int, word: Trigger = Trigger.SUCCEEDED) -> None:
        rows = await self.store.resources.read_many([vm(i) for i in numbers])
        fences = await self.custody.take(ME, {path: row.snapshot.fence for path, row in rows.items()})
        await self.executor.apply([TransitionInput(path, Report(word, fence)) for path, fence in fences.items()])

    async def begin(self, action: str = "suspend") -> str:
        answer = await self.ask(action)
        assert isinstance(answer, Accepted), answer
        return answer.operation

    async def record(self, operation: str) -> tuple[str, int, int]:
        found = await self.store.operations.read(UUID(operation))
        assert found is not None
        return found["outcome"], found["remaining"], found["failed"]

    async def waits(self) -> int:
        return int(await self.store.pool.fetchval("SELECT count(*) FROM operation_waits"))


def vm(number: int) -> str:
    return f"{GROUP}/g/{number:05}"


@asynccontextmanager
async def yard(dsn: str, size: int = 3, chunk: int = 2000) -> AsyncIterator[Yard]:
    async with Store.open(dsn, connections=8) as store:
        one = Yard(store, chunk)
        await one.make(["Running"] * size)
        yield one


@pytest.mark.req("S0-11")
@pytest.mark.parametrize("joined", [(0,), (0, 1, 2)])
async def test_member_that_settles_before_the_commit_is_decided_anew(
    migrated: str, joined: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the decision that it joins and the commit that records it, what it joined ends."""
    async with yard(migrated) as one:
        await one.busy(*joined)
        commit, turns = one.store.transitions.commit, 0

        async def late(changes: Sequence[Change], at: float, expansion: Expansion | None = None) -> CommitResult:
            nonlocal turns
            if expansion is not None:
                turns += 1
                if turns == 1:
                    assert len(expansion.joined) == len(joined)
                    await one.tell(*joined)
            return await commit(changes, at, expansion)

        monkeypatch.setattr(one.store.transitions, "commit", late)
        operation = await one.begin()
        assert turns == 2
        assert await one.waits() == 0
        await one.carry()
        assert (await one.record(operation))[0] == "succeeded"
        assert (await one.group()).snapshot.state == "Suspended"


@pytest.mark.req("S0-11")
async def test_members_that_settle_while_they_are_asked_are_all_counted(migrated: str) -> None:
    size = 40
    async with yard(migrated, size, chunk=5) as one:
        await one.busy(*range(0, size, 2))

        async def settle() -> None:
            for i in range(0, size, 4):
                await one.says(i, i + 2)

        operation, _ = await asyncio.gather(one.begin(), settle())
        await one.carry()
        await one.says(*range(size))  # the members that are left
        assert (await one.record(operation))[:2] == ("succeeded", 0)
        assert await one.waits() == 0


@pytest.mark.req("S0-11")
async def test_one_member_is_waited_for_by_several(migrated: str) -> None:
    """The operation that asked it, and one that waits for that."""
    async with yard(migrated) as one:
        await one.store.pool.execute(
            "INSERT INTO resources (path, kind, state, fence, lane, token) "
            "VALUES ($1, 'subgroup', 'Running', 1, 'sim.a', gen_random_uuid())",
            f"{GROUP}/g",
        )
        first = await one.begin()
        await one.store.pool.execute("DELETE FROM claims")  # as of one that was asked for in the course of another
        answer = await one.admission.admit(*requested("subgroup", f"{GROUP}/g", Request("suspend"), "ann"))
        await one.idle()
        assert isinstance(answer, Accepted), answer
        assert await one.waits() == 3
        await one.says(0, 1)
        assert [(await one.record(id))[:2] for id in (first, answer.operation)] == [("", 1), ("", 1)]
        await one.says(2, word=Trigger.FAILED)
        assert [(await one.record(id))[0] for id in (first, answer.operation)] == ["failed", "failed"]
        assert await one.waits() == 0


@pytest.mark.req("S0-11")
async def test_cancelled_group_waits_for_joined_member_and_leaves_it_alone(migrated: str) -> None:
    async with yard(migrated) as one:
        await one.busy(0)
        operation = await one.begin()
        assert isinstance(await cancel(one.admission, UUID(operation), "ann"), Accepted)
        await one.idle()
        row = await one.store.resources.read(vm(0))
        assert row is not None
        assert row.snapshot.operation is not None
        assert not row.snapshot.operation.cancelled  # it is another operation's
        for i in (1, 2):
            for _ in range(5):
                row = await one.store.resources.read(vm(i))
                if row is not None and row.snapshot.work is not None:
                    fences = await one.custody.take(ME, {vm(i): row.snapshot.fence})
                    seen = Report(Trigger.OBSERVED, fences.get(vm(i), Fence()), seen="Running")
                    await one.executor.apply([TransitionInput(vm(i), seen)])
        await one.idle()
        assert (await one.record(operation))[:2] == ("", 1)
        await one.says(0)
        assert (await one.record(operation))[0] == "cancelled"
        assert await one.waits() == 0


@pytest.mark.req("X-09")
async def test_retry_asks_joined_member_that_failed(migrated: str) -> None:
    async with yard(migrated) as one:
        await one.busy(0, action="terminate")
        operation = await one.begin("terminate")
        await one.says(1, 2)
        await one.says(0, word=Trigger.FAILED)
        assert await one.record(operation) == ("failed", 0, 1)
        assert await one.store.groups.list_failed_members(operation, "", 9) == [vm(0)]
        again = await retry(one.admission, UUID(operation), "ann", Actor.USER, force=True, reason="it failed")
        await one.idle()
        assert isinstance(again, Accepted), again
        assert (await one.record(again.operation))[1] == 1


@pytest.mark.req("S0-11")
async def test_members_listed_while_group_waits_name_what_they_joined(migrated: str) -> None:
    async with yard(migrated) as one:
        joined = await one.busy(0)
        operation = await one.begin()
        (told,) = await one.store.operations.read_members(UUID(operation), "", 9)
        assert (told["path"], told["outcome"]) == (vm(0), "joined")
        assert joined in told["says"]
        await one.says(0, 1, 2)
        assert await one.store.operations.read_members(UUID(operation), "", 9) == []


async def test_group_ends_after_hidden_action_of_its_members(migrated: str) -> None:
    async with Store.open(migrated, connections=4) as store:
        await put(store, TRUCK)
        await put(store, FLEET)
        one = Yard(store)
        await one.executor.kinds.fresh()
        rows: list[tuple[Any, ...]] = [("/ns/f", "fleet", "Home"), ("/ns/f/1", "truck", "Parked")]
        text = """INSERT INTO resources (path, kind, state, fence, lane, token)
                  VALUES ($1, $2, $3, 1, 'sim.a', gen_random_uuid())"""
        async with store.pool.acquire() as connection:
            await connection.executemany(text, rows)
        answer = await one.admission.admit(*requested("fleet", "/ns/f", Request("check"), "ann"))
        await one.idle()
        assert isinstance(answer, Accepted), answer
        assert (await one.record(answer.operation))[:2] == ("", 1)
        await one.carry()
        assert (await one.record(answer.operation))[:2] == ("succeeded", 0)
