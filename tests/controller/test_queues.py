"""Queues: what meets another operation waits its turn, begins once, in the order of arrival, and is never lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from stead.catalog import KINDS
from stead.controller.admission.request import Accepted, NotFound
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import OnConflict, Report, Request
from stead.lifecycle.rows import Actor, ConflictPolicy, Trigger
from stead.store import Store
from stead.store.commit import Custody
from tests import background
from tests.action_requests import cancel, promote, requested, retry
from tests.engine import engine_without_bus

ME = Custody("agent", 1)
VM = "/ns/m/g/1"
MACHINE, DISK = "/acme/space/m", "/acme/space/d"


class Controller:
    """One controller without a bus; agents are played by hand."""

    def __init__(self, store: Store, kinds: Mapping[str, Lifecycle] = KINDS, *, prompt: bool = True) -> None:
        """Unless it is prompt, only the healer finds whose turn it is."""
        self.store = store
        one = engine_without_bus(store, kinds).controller
        self.executor, self.admission, self.custody = one.executor, one.admission, one.custody
        self.queues, self.groups, self.steps = one.queues, one.groups, one.steps
        self._works, self.steps.works = self.steps.works, {}
        if not prompt:
            self.executor._commit_hooks.remove(self.queues)

    def begins(self, *states: tuple[str, str]) -> None:
        """From now on the controller does its steps of these kinds and states; it does none otherwise."""
        self.steps.works = {state: self._works[state] for state in states}

    async def ask(self, path: str, action: str, kind: str = "vm", **extra: Any) -> Accepted | Rejection | NotFound:
        said = {name: extra.pop(name) for name in ("force", "reason", "actor") if name in extra}
        request = Request(action, on_conflict=OnConflict.QUEUE, **said)
        rest: dict[str, Any] = {"principal": "ann", "lane": "sim.a", **extra}
        return await self.admission.admit(*requested(kind, path, request, **rest))

    async def wait(self, path: str, action: str, kind: str = "vm", **extra: Any) -> str:
        """Ask, and be queued."""
        answer = await self.ask(path, action, kind, **extra)
        assert isinstance(answer, Accepted)
        assert answer.position is not None
        return answer.operation

    async def begin(self, path: str, action: str, kind: str = "vm", **extra: Any) -> str:
        """Ask, and begin at once."""
        answer = await self.ask(path, action, kind, **extra)
        assert isinstance(answer, Accepted)
        assert answer.position is None
        return answer.operation

    async def report(self, path: str, word: Trigger = Trigger.SUCCEEDED, **facts: Any) -> None:
        """An agent takes what is ordered of a resource and reports."""
        row = await self.store.resources.read(path)
        assert row is not None
        fences = await self.custody.take(ME, {path: row.snapshot.fence})
        await self.executor.apply([TransitionInput(path, Report(word, fences[path]), principal="agent", facts=facts)])
        await self.idle()

    async def idle(self) -> None:
        await background.done(self.queues.background, self.groups.background)

    async def make(self, path: str, action: str = "create", kind: str = "vm", **extra: Any) -> None:
        await self.begin(path, action, kind, **extra)
        await self.report(path)

    async def under_way(self, path: str) -> str | None:
        """The operation of a resource."""
        row = await self.store.resources.read(path)
        assert row is not None
        return row.snapshot.operation.id if row.snapshot.operation else None

    async def state(self, path: str) -> str | None:
        row = await self.store.resources.read(path)
        return row.snapshot.state if row else None

    async def operation(self, id: str) -> Mapping[str, Any]:
        record = await self.store.operations.read(UUID(id))
        assert record is not None
        return record

    async def order(self, queue: str) -> list[str]:
        return [str(record["id"]) for record in await self.store.queues.read_waiting(queue, 100)]

    async def lines(self, path: str) -> list[Mapping[str, Any]]:
        await self.store.journal.number()
        return await self.store.journal.read(0, path=path, limit=1000)


@asynccontextmanager
async def controller(
    dsn: str, kinds: Mapping[str, Lifecycle] = KINDS, *, prompt: bool = True
) -> AsyncIterator[Controller]:
    async with Store.open(dsn, connections=6) as store:
        yield Controller(store, kinds, prompt=prompt)


@pytest.mark.req("X-11")
@pytest.mark.req("S2-03")
async def test_those_that_wait_begin_in_the_order_of_arrival(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        await c.begin(VM, "reboot")
        waiting = [await c.wait(VM, action) for action in ("suspend", "resume", "suspend")]
        assert await c.order(VM) == waiting
        assert [(await c.operation(id))["position"] for id in waiting] == [1, 2, 3]
        for id, state in zip(waiting, ("Suspending", "Resuming", "Suspending"), strict=True):
            await c.report(VM)
            assert (await c.under_way(VM), await c.state(VM)) == (id, state)
        await c.report(VM)
        assert [(await c.operation(id))["outcome"] for id in waiting] == ["succeeded"] * 3
        queue = await c.store.queues.read(VM)
        assert queue is not None
        assert (queue["waiting"], queue["running"], queue["stopping"]) == (0, None, False)


async def test_whoever_does_not_want_to_wait_is_refused(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        await c.begin(VM, "reboot")
        for choice in (OnConflict.DEFAULT, OnConflict.REJECT):
            answer = await c.admission.admit(*requested("vm", VM, Request("suspend", on_conflict=choice), "ann"))
            assert isinstance(answer, Rejection)
        assert await c.store.queues.read(VM) is None  # made on first use


async def test_the_lifecycle_may_say_that_an_action_waits(migrated: str) -> None:
    vm = KINDS["vm"]
    patient = replace(
        vm,
        actions=tuple(
            replace(a, conflict=ConflictPolicy.QUEUE if a.name == "suspend" else a.conflict) for a in vm.actions
        ),
    )
    async with controller(migrated, {**KINDS, "vm": patient}) as c:
        await c.make(VM)
        await c.begin(VM, "reboot")
        ask = [Request("suspend"), Request("suspend", on_conflict=OnConflict.REJECT)]
        waits, refused = [await c.admission.admit(*requested("vm", VM, request, "ann")) for request in ask]
        assert isinstance(waits, Accepted)
        assert waits.position == 1
        assert isinstance(refused, Rejection)
        async with controller(migrated) as other:  # whose lifecycles do not say so any more
            assert await other.queues.advance(VM) == 0
            assert await other.order(VM) == [waits.operation]


async def test_nobody_who_waits_is_overtaken_by_one_who_would_wait(migrated: str) -> None:
    async with controller(migrated, prompt=False) as c:
        await c.make(VM)
        await c.begin(VM, "reboot")
        first = await c.wait(VM, "suspend")
        await c.report(VM)  # nothing is under way now, and somebody waits
        second = await c.wait(VM, "reboot")
        assert await c.order(VM) == [first, second]
        assert await c.queues.heal() == 1
        assert await c.under_way(VM) == first


@pytest.mark.req("X-11")
async def test_one_that_waits_is_put_first(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        running = await c.begin(VM, "reboot")
        one, two, three = [await c.wait(VM, action) for action in ("suspend", "resume", "suspend")]
        assert await promote(c.admission, UUID(three), "bob") == Accepted(three, position=1)
        assert await c.order(VM) == [three, one, two]
        await promote(c.admission, UUID(two), "bob")
        assert await c.order(VM) == [two, three, one]
        line = (await c.lines(VM))[-1]
        assert (line["trigger"], line["detail"], line["principal"], str(line["operation"])) == (
            "promote",
            "resume",
            "bob",
            two,
        )
        refusal = await promote(c.admission, UUID(running), "bob")
        assert isinstance(refusal, Rejection)
        assert refusal.code is Code.NOT_QUEUED
        assert isinstance(await promote(c.admission, UUID(int=0), "bob"), NotFound)
        await promote(c.admission, UUID(three), "bob")
        await c.report(VM)
        assert await c.under_way(VM) == three


@pytest.mark.req("X-11")
async def test_one_that_waits_is_cancelled_and_never_begins(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        await c.begin(VM, "suspend")
        one, two = [await c.wait(VM, action) for action in ("reboot", "resume")]
        assert await cancel(c.admission, UUID(one), "bob") == Accepted(one)
        record = await c.operation(one)
        assert (record["outcome"], record["position"], record["failed"]) == ("cancelled", None, 1)
        assert (await c.operation(two))["position"] == 1
        line = (await c.lines(VM))[-1]
        assert (line["trigger"], line["detail"], line["principal"]) == ("cancel", "reboot", "bob")
        again = await cancel(c.admission, UUID(one), "bob")
        assert isinstance(again, Rejection)
        assert again.code is Code.ENDED
        await c.report(VM)
        assert await c.under_way(VM) == two
        retried = await retry(c.admission, UUID(one), "ann", Actor.USER)  # it waits again, since it did before
        assert isinstance(retried, Accepted)
        assert retried.position == 1


async def test_what_is_somebody_elses_is_neither_cancelled_nor_put_first(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(MACHINE, "deploy", "machine")
        await c.begin(MACHINE, "reboot", "machine")
        id = UUID(await c.wait(MACHINE, "migrate", "machine", actor=Actor.ADMIN))
        for ask in (cancel, promote):
            refusal = await ask(c.admission, id, "ann")
            assert isinstance(refusal, Rejection)
            assert refusal.code is Code.NOT_THE_ACTOR
            assert isinstance(await ask(c.admission, id, "root", Actor.ADMIN), Accepted) or ask == promote
            id = UUID(await c.wait(MACHINE, "migrate", "machine", actor=Actor.ADMIN))


@pytest.mark.req("X-10")
async def test_the_same_key_again_is_the_same_place(migrated: str) -> None:
    async with controller(migrated) as c, controller(migrated) as d:
        await c.make(VM)
        await c.begin(VM, "reboot")
        asked = [each.ask(VM, "suspend", key="k-1") for each in (c, d) for _ in range(4)]
        answers = await asyncio.gather(*asked)
        assert {(a.operation, a.position) for a in answers if isinstance(a, Accepted)} == {
            ((await c.order(VM))[0], 1)
        }
        assert sum(not a.repeated for a in answers if isinstance(a, Accepted)) == 1
        other = await c.ask(VM, "resume", key="k-1")
        assert isinstance(other, Rejection)
        assert other.code is Code.KEY_REUSED
        (id,) = await c.order(VM)
        await c.report(VM)
        assert await c.ask(VM, "suspend", key="k-1") == Accepted(id, repeated=True)


@pytest.mark.long
@pytest.mark.req("S2-03")
async def test_of_two_controllers_exactly_one_begins_it(migrated: str) -> None:
    paths = [f"/ns/m/g/{i}" for i in range(40)]
    async with controller(migrated, prompt=False) as c, controller(migrated, prompt=False) as d:
        for path in paths:
            await c.begin(path, "create")
        waiting = {path: [await c.wait(path, "suspend"), await c.wait(path, "resume")] for path in paths}
        for path in paths:
            await c.report(path)
        tried = [each.queues.advance(path) for path in paths for each in (c, d, c, d)]
        await asyncio.gather(*tried)
        for path in paths:
            assert await c.under_way(path) == waiting[path][0]
            assert await c.order(path) == waiting[path][1:]
        requests = [
            line for line in await c.lines("/ns") if (line["trigger"], line["detail"]) == ("request", "suspend")
        ]
        assert len(requests) == len(paths)


@pytest.mark.long
@pytest.mark.req("S2-03")
async def test_a_cancel_and_its_turn_race_and_one_of_them_wins(migrated: str) -> None:
    paths = [f"/ns/m/g/{i}" for i in range(40)]
    async with controller(migrated, prompt=False) as c, controller(migrated, prompt=False) as d:
        for path in paths:
            await c.begin(path, "create")
        waiting = {path: await c.wait(path, "suspend") for path in paths}
        for path in paths:
            await c.report(path)
        heads = {path: await c.store.queues.read_head(path) for path in paths}

        async def race(path: str) -> None:
            head = heads[path]
            assert head is not None
            cancel = d.store.queues.leave(UUID(waiting[path]), "cancelled", [], "bob", "user")
            begun, cancelled = await asyncio.gather(c.admission.turn(head), cancel)
            assert begun  # it is out of the queue, one way or the other
            assert (await c.state(path) == "Suspending") is not cancelled
            assert (await c.operation(waiting[path]))["outcome"] == ("cancelled" if cancelled else "")

        await asyncio.gather(*(race(path) for path in paths))


@pytest.mark.req("S2-03")
async def test_what_waits_survives_its_controller(migrated: str) -> None:
    async with controller(migrated, prompt=False) as c:
        await c.make(VM)
        await c.begin(VM, "reboot")
        id = await c.wait(VM, "suspend", spec={"deep": True}, reason="night", principal="eve")
        await c.report(VM)
    async with controller(migrated) as d:
        assert await d.queues.heal() == 1
        assert await d.under_way(VM) == id
        record = await d.operation(id)
        assert (record["principal"], record["reason"], record["request"]["spec"]) == ("eve", "night", {"deep": True})


@pytest.mark.req("X-11")
async def test_what_cannot_begin_at_its_turn_is_refused_and_the_next_is_tried(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        await c.begin(VM, "suspend")
        refused, begun = await c.wait(VM, "reboot"), await c.wait(VM, "resume")
        await c.report(VM)
        assert await c.under_way(VM) == begun
        record = await c.operation(refused)
        assert (record["outcome"], record["failed"]) == ("rejected", 1)
        assert [reason["code"] for reason in record["reasons"]] == ["wrong-state"]
        (line,) = [line for line in await c.lines(VM) if line["trigger"] == "rejected"]
        assert (str(line["operation"]), line["detail"], line["change"]["reasons"]) == (
            refused,
            "reboot",
            record["reasons"],
        )
        await c.report(VM)
        again = await retry(c.admission, UUID(refused), "ann", Actor.USER)
        assert isinstance(again, Accepted)
        assert again.position is None


async def test_where_there_is_nothing_to_do_at_its_turn_it_is_done(migrated: str) -> None:
    vm = KINDS["vm"]
    calm = replace(
        vm, actions=tuple(replace(a, idle=("Suspended",) if a.name == "suspend" else a.idle) for a in vm.actions)
    )
    async with controller(migrated, {**KINDS, "vm": calm}) as c:
        await c.make(VM)
        await c.begin(VM, "reboot")
        one, two = await c.wait(VM, "suspend"), await c.wait(VM, "suspend")
        await c.report(VM)
        await c.report(VM)
        assert [(await c.operation(id))["outcome"] for id in (one, two)] == ["succeeded", "succeeded"]
        assert (await c.operation(two))["failed"] == 0


@pytest.mark.req("S2-03")
async def test_a_queue_that_stops_takes_nothing_more_and_is_removed_when_all_is_carried_out(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        await c.begin(VM, "reboot")
        waiting = [await c.wait(VM, "suspend"), await c.wait(VM, "resume")]
        (stopped,) = await c.store.queues.stop(VM)
        assert (stopped["path"], stopped["stopping"], stopped["waiting"]) == (VM, True, 2)
        refusal = await c.ask(VM, "terminate", key="k")
        assert isinstance(refusal, Rejection)
        assert refusal.code is Code.STOPPING
        await c.report(VM)
        await c.report(VM)
        assert await c.under_way(VM) == waiting[1]
        assert await c.store.queues.read(VM) is not None  # until the last of it is carried out
        await c.report(VM)
        assert [(await c.operation(id))["outcome"] for id in waiting] == ["succeeded", "succeeded"]
        assert await c.store.queues.read(VM) is None
        await c.begin(VM, "terminate", key="k")  # the refused request did not use its key up
        await c.wait(VM, "suspend")  # and there is a new queue


@pytest.mark.req("S2-03")
async def test_all_queues_stop(migrated: str) -> None:
    async with controller(migrated) as c:
        paths = [f"/ns/m/g/{i}" for i in range(3)]
        for path in paths:
            await c.begin(path, "create")
            await c.wait(path, "suspend")
        await c.store.queues.open("/ns/empty")
        assert {q["path"] for q in await c.store.queues.stop(None)} == {*paths, "/ns/empty"}
        for path in paths:
            assert isinstance(await c.ask(path, "reboot"), Rejection)
            await c.report(path)
            await c.report(path)
            assert await c.state(path) == "Suspended"
        assert await c.queues.heal() == 0
        assert await c.store.queues.read_page("/", "", 10) == []


@pytest.mark.req("S2-03")
async def test_the_last_one_of_a_queue_that_stops_may_be_cancelled(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.begin(VM, "create")
        id = await c.wait(VM, "suspend")
        await c.store.queues.stop(VM)
        await cancel(c.admission, UUID(id), "ann")
        assert await c.store.queues.read(VM) is None


@pytest.mark.req("S2-03")
async def test_a_queue_made_by_hand(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.store.queues.open(VM)
        await c.store.queues.open(VM)
        queue = await c.store.queues.read(VM)
        assert queue is not None
        assert (queue["waiting"], queue["stopping"]) == (0, False)


@pytest.mark.req("S2-03")
async def test_when_an_object_is_gone_its_queue_goes_too(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(MACHINE, "deploy", "machine")
        await c.begin(MACHINE, "destroy", "machine")
        waiting = await c.wait(MACHINE, "reboot", "machine")
        for _ in range(3):
            await c.report(MACHINE)
        assert await c.state(MACHINE) == "DESTROYED"
        assert (await c.operation(waiting))["outcome"] == "rejected"
        assert await c.store.queues.read(MACHINE) is None
        await c.make(VM)
        await c.begin(VM, "terminate")
        waiting = await c.wait(VM, "reboot")
        await c.report(VM)
        assert await c.state(VM) in (None, "Terminated")
        assert (await c.operation(waiting))["outcome"] == "rejected"
        assert await c.store.queues.read(VM) is None


@pytest.mark.req("S2-03")
async def test_an_action_on_a_disk_waits_in_the_queue_of_its_machine(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(MACHINE, "deploy", "machine")
        await c.make(DISK, "assign", "disk", spec={"machine": MACHINE})
        await c.begin(MACHINE, "reboot", "machine")
        disk = await c.wait(DISK, "detach", "disk")  # nothing is under way at the disk itself
        machine = await c.wait(MACHINE, "pause", "machine")
        assert await c.order(MACHINE) == [disk, machine]
        assert await c.store.queues.read(DISK) is None
        await c.report(MACHINE)
        assert (await c.under_way(DISK), await c.under_way(MACHINE)) == (disk, None)  # one after the other
        await c.report(DISK, machine=None)
        assert await c.under_way(MACHINE) == machine
        await c.begin(DISK, "delete", "disk")  # it lies by itself now: what the provider says counts before the spec
        lonely = await c.wait(DISK, "restore", "disk")
        assert await c.order(DISK) == [lonely]


async def test_what_is_asked_for_says_which_machine_is_meant(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(MACHINE, "deploy", "machine")
        await c.make(DISK, "create", "disk")
        await c.begin("/nodes/other", "create", "node", actor=Actor.ADMIN)
        await c.begin(MACHINE, "migrate", "machine", actor=Actor.ADMIN)
        await c.wait(DISK, "attach", "disk", spec={"machine": MACHINE})
        refused = await c.ask(DISK, "attach", "disk", spec={"machine": "nonsense"})
        assert isinstance(refused, Rejection)
        assert refused.code is Code.PARENT


@pytest.mark.req("S2-03")
async def test_a_claim_above_is_waited_for_as_well(migrated: str) -> None:
    async with controller(migrated) as c:
        for i in (1, 2):
            await c.make(f"/ns/m/g/{i}")
        await make_group(migrated, "/ns/m", "Running")
        accepted = await c.ask("/ns/m", "suspend", "mci")
        assert isinstance(accepted, Accepted)
        await c.idle()
        new = await c.wait("/ns/m/g/3", "create")  # not there yet, and what it belongs to is busy
        for i in (1, 2):
            await c.report(f"/ns/m/g/{i}")
        await c.idle()
        assert (await c.operation(accepted.operation))["outcome"] == "succeeded"
        await c.queues.heal()
        assert await c.under_way("/ns/m/g/3") == new


@pytest.mark.req("X-11")
async def test_an_operation_on_a_group_waits_for_its_members(migrated: str) -> None:
    async with controller(migrated) as c:
        for i in (1, 2):
            await c.make(f"/ns/m/g/{i}")
        await make_group(migrated, "/ns/m", "Running")
        await c.begin("/ns/m/g/1", "reboot")
        group = await c.wait("/ns/m", "suspend", "mci")
        assert await c.queues.heal() == 0
        await c.report("/ns/m/g/1")
        await c.queues.heal()
        await c.idle()
        assert await c.under_way("/ns/m") == group
        assert [await c.state(f"/ns/m/g/{i}") for i in (1, 2)] == ["Suspending", "Suspending"]
        for i in (1, 2):
            await c.report(f"/ns/m/g/{i}")
        assert (await c.operation(group))["outcome"] == "succeeded"


async def make_group(dsn: str, path: str, state: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        sql = "INSERT INTO resources (path, kind, state, token) VALUES ($1, 'mci', $2, gen_random_uuid())"
        await connection.execute(sql, path, state)
    finally:
        await connection.close()
