"""Explanations and rehearsals against what really happens: every action on a VM in every state, on the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count, groupby, product
from typing import Any

import asyncpg
import pytest

from stead.access.caller import Caller
from stead.application import Accepted, ActionRequest, NotFound, Rejection
from stead.application.authorized_commands import dry_run_action, request_action
from stead.application.explanation import DryRun, Explanation, holder_of
from stead.application.models import InvalidRequest
from stead.application.names import operation_id
from stead.catalog import KINDS
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.events import Report
from stead.lifecycle.rows import PROBE, Actor, StateClass, Trigger
from stead.store import Row, Store
from stead.store.commit import Custody
from tests.engine import engine_without_bus
from tests.tiers import first_fast

VM = KINDS["vm"]
ME = Custody("me", 1)
BEGUN_BY = {action.via[0]: action for action in VM.actions if Actor.USER in action.actors and action.via}
"""The moving states, each with the action that leads there."""
STATES = tuple(state.name for state in VM.states)
ACTIONS = (*(action.name for action in VM.actions), "explode")


@dataclass
class Hand:
    """An engine without a bus, and an agent that is played by hand."""

    store: Store
    database: asyncpg.Connection[asyncpg.Record]
    numbers: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        one = engine_without_bus(self.store, follows_commits=False)
        self.custody, self.executor = one.controller.custody, one.controller.executor
        self.service, self.reader = replace(one.application, served=None), one.application.reader

    async def row(self, path: str) -> Row:
        row = await self.store.resources.read(path)
        assert row is not None
        return row

    async def lines(self, path: str) -> list[Any]:
        while (await self.store.journal.number())[1]:
            pass
        return [line for line in (await self.reader.journal(0, path, 1000))[0] if not line.rejections]

    async def vm(self, state: str) -> str:
        """A VM of its own in a state; its path."""
        path = f"/ns/m/g/{next(self.numbers)}"
        if state == "Absent":
            return path
        if state in BEGUN_BY:
            action = BEGUN_BY[state]
            if action.source[0] != "Absent":
                await self.make(path)
                await self.rest(path, action.source[0])
            await self.ask(path, action.name)
        else:
            await self.make(path)
            await self.rest(path, state)
        assert (await self.row(path)).snapshot.state == state
        return path

    async def make(self, path: str) -> None:
        await self.ask(path, "create")
        await self.finish(path)

    async def ask(self, path: str, action: str) -> Accepted:
        answer = await request_action(self.service, ActionRequest(path, action, "vm", lane="sim.a"), Caller("ann"))
        assert isinstance(answer, Accepted), answer
        return answer

    async def rest(self, path: str, state: str) -> None:
        await self.database.execute("UPDATE resources SET state = $2 WHERE path = $1", path, state)

    async def put(self, path: str, kind: str, state: str) -> None:
        """A resource at rest, of any kind."""
        await self.database.execute(
            "INSERT INTO resources (path, kind, state, token, lane) VALUES ($1, $2, $3, gen_random_uuid(), 'sim.a')",
            path,
            kind,
            state,
        )

    async def finish(self, path: str) -> list[str]:
        """Carry out what is under way, as a provider would; all it was asked for, looks that miss counted once."""
        verbs: list[str] = []
        while (row := await self.row(path)).snapshot.operation is not None:
            op, work = row.snapshot.operation, row.snapshot.work
            assert work is not None
            verbs.append(work.verb)
            taken = await self.custody.take(ME, {path: row.snapshot.fence})
            action = VM.action(op.action)
            assert action is not None
            elsewhere = "Suspended" if action.target == "Running" else "Running"
            seen = VM.state(action.target if op.said else elsewhere).observed_as if work.verb == PROBE else ""
            word = Trigger.OBSERVED if seen else Trigger.SUCCEEDED
            await self.executor.apply([TransitionInput(path, Report(word, taken[path], seen=seen))])
            while (after := await self.row(path)).snapshot.operation is not None and after.snapshot.work is None:
                again = Report(
                    Trigger.OBSERVED, after.snapshot.fence, seen=seen
                )  # it is missed, and looked for again
                await self.executor.apply([TransitionInput(path, again)])
        return [verb for verb, _ in groupby(verbs)]


@asynccontextmanager
async def hand(dsn: str) -> AsyncIterator[Hand]:
    async with Store.open(dsn, connections=2) as store:
        connection = await asyncpg.connect(dsn)
        try:
            yield Hand(store, connection)
        finally:
            await connection.close()


def asked(path: str, action: str, force: bool) -> ActionRequest:
    return ActionRequest(path, action, "vm", {"cpu": 1}, "sim.a", force=force, reason="because" if force else "")


@pytest.mark.req("X-01")
@pytest.mark.req("X-02")
@pytest.mark.parametrize("state", first_fast(STATES, 2))
async def test_what_is_said_before_is_what_happens(migrated: str, state: str) -> None:
    async with hand(migrated) as h:
        for action, actor, force in product(ACTIONS, ("user", "admin"), (False, True)):
            path = await h.vm(state)
            before = await h.lines(path)
            caller, wish = Caller("bob", actor), asked(path, action, force)
            said, planned = (
                await h.service.explain(wish, h.service.authorization.view(caller)),
                await dry_run_action(h.service, wish, caller),
            )
            assert await h.lines(path) == before  # so far nothing was done, and nothing written
            answer = await request_action(h.service, wish, caller)
            if isinstance(said, NotFound):
                assert isinstance(planned, NotFound)
                assert isinstance(answer, NotFound)
                continue
            assert said.allowed is isinstance(answer, Accepted), (action, actor, force)
            if isinstance(answer, Accepted):
                assert isinstance(planned, DryRun)
                await same(h, path, said, planned, answer, len(before))
            else:
                assert isinstance(answer, Rejection)
                assert isinstance(planned, Rejection)
                assert said.reasons == planned.reasons == answer.reasons
                assert planned.holder == answer.holder
                assert said.holder == (answer.holder and holder_of(answer.holder))
                assert said.remedies


async def same(h: Hand, path: str, said: Explanation, planned: DryRun, answer: Accepted, known: int) -> None:
    """What was let in does what was planned, to its end."""
    assert (
        (said.would_join, said.no_change)
        == (planned.would_join, planned.no_change)
        == (answer.joined, answer.no_change)
    )
    row = await h.row(path)
    lines = [x for x in (await h.lines(path))[known:] if x.source != x.target]  # to observe moves nothing
    moves = [(x.source, x.target, x.trigger, x.detail, x.actor) for x in lines]
    assert moves == [(m.source, m.target, m.trigger, m.detail, m.actor) for m in planned.transitions]
    if said.would_join or said.no_change:
        assert (planned.claims, planned.orders, planned.provider_calls) == ((), (), ())
        return
    assert [(c.path, c.mode, c.operation) for c in (await h.reader.claims(path, 9)).items] == [
        (c.path, c.mode, operation_id(path, answer.operation)) for c in planned.claims
    ]
    assert row.snapshot.work is not None
    assert [(row.snapshot.work.verb, row.lane, 1)] == [(o.verb, o.lane, o.members) for o in planned.orders]
    assert set(row.timers or {}) == {t.name for t in planned.timers}
    assert tuple(await h.finish(path)) == planned.provider_calls
    lines = [x for x in (await h.lines(path))[known:] if x.source != x.target]
    if planned.action in ("refresh", "accept-observed"):
        return  # where that leads is not known before
    passed = [planned.state, *(x.target for x in lines)]
    assert passed == list(planned.states)


@pytest.mark.req("X-01")
@pytest.mark.parametrize("state", first_fast(STATES, 2))
async def test_what_is_said_to_help_helps(migrated: str, state: str) -> None:
    async with hand(migrated) as h:
        for action in ACTIONS[:-1]:
            path = await h.vm(state)
            wish, caller = asked(path, action, False), Caller("bob")
            said = await h.service.explain(wish, h.service.authorization.view(caller))
            if isinstance(said, NotFound) or said.allowed:
                continue
            for remedy in said.remedies:
                match remedy.kind:
                    case "wait":
                        assert (await h.row(path)).snapshot.operation is not None
                        await h.finish(path)
                    case "ask":
                        for first in remedy.actions:
                            await h.ask(path, first)
                            await h.finish(path)
                        now = await h.service.explain(wish, h.service.authorization.view(caller))
                        assert isinstance(now, Explanation)
                        assert now.allowed, (state, action, remedy)
                    case "nothing":
                        assert now_here(state) not in leading_to(action)
                    case "force":
                        forced = replace(wish, force=True, reason="because")
                        now = await h.service.explain(forced, h.service.authorization.view(caller))
                        assert isinstance(now, Explanation)
                        assert now.allowed


EVENTS = """
INSERT INTO lease_events (lease, kind, at)
SELECT '/ns/lease', kind, now() FROM unnest('{start_lease,end_lease}'::text[]) kind
"""


@pytest.mark.req("X-01")
@pytest.mark.req("X-02")
@pytest.mark.parametrize("kind", first_fast((kind for kind, lifecycle in KINDS.items() if not lifecycle.members), 3))
async def test_it_is_so_for_every_kind_that_is_no_group(migrated: str, kind: str) -> None:
    lifecycle = KINDS[kind]
    rests = [state for state in lifecycle.states if state.cls is not StateClass.TRANSITIONAL]
    actions = [action for action in lifecycle.actions if not action.scoped]
    below = {"cloudlet": "/ns", "appinst": "/ns/site/c", "reservation": "/ns/lease"}.get(kind, "/ns/m/g")
    lane = {"cloudlet": "", "appinst": ""}.get(kind, "sim.a")
    async with hand(migrated) as h:
        await h.put("/ns/site", "cloudlet", "Ready")
        await h.put("/ns/site/c", "clusterinst", "Ready")
        async with h.database.transaction():
            await h.put("/ns/lease", "lease", "DELETING")  # with that, its parts may be in any state
            await h.put("/ns/lease/r0", "reservation", "pending")
            await h.database.execute(EVENTS)
        for state, action in product(rests, actions):
            for actor in dict.fromkeys((*action.actors, "user")):
                path = f"{below}/{next(h.numbers)}"
                if state.cls is not StateClass.ABSENT:
                    await h.put(path, kind, state.name)
                caller, wish = Caller("bob", actor), replace(asked(path, action.name, False), kind=kind, lane=lane)
                said, planned = (
                    await h.service.explain(wish, h.service.authorization.view(caller)),
                    await dry_run_action(h.service, wish, caller),
                )
                answer = await request_action(h.service, wish, caller)
                if isinstance(said, NotFound):
                    assert isinstance(planned, NotFound)
                    assert isinstance(answer, NotFound)
                elif isinstance(planned, InvalidRequest):
                    assert planned == answer  # it lacks what the action needs, which is said before all else
                elif not said.allowed:
                    assert isinstance(planned, Rejection)
                    assert isinstance(answer, Rejection)
                    assert said.reasons == planned.reasons == answer.reasons
                    assert said.remedies
                else:
                    assert isinstance(planned, DryRun)
                    assert isinstance(answer, Accepted)
                    assert (said.would_join, said.no_change) == (answer.joined, answer.no_change)
                    moves = [x for x in await h.lines(path) if x.source != x.target]
                    assert [(x.source, x.target, x.trigger, x.detail, x.actor) for x in moves] == [
                        (m.source, m.target, m.trigger, m.detail, m.actor) for m in planned.transitions
                    ]
                    claims = (await h.reader.claims(path, 9)).items
                    assert [(c.path, c.mode) for c in claims] == [(c.path, c.mode) for c in planned.claims]


def leading_to(action: str) -> set[str]:
    """The states from which requests of a user lead to where an action starts."""
    wanted = VM.action(action)
    assert wanted is not None
    found = set(wanted.source)
    while True:
        more = {s for a in VM.actions if "user" in a.actors and a.target in found for s in a.source} - found
        if not more:
            return found
        found |= more


def now_here(state: str) -> str:
    """Where what is under way ends."""
    return BEGUN_BY[state].target if state in BEGUN_BY else state


async def test_the_states_are_all_there() -> None:
    """A check on the test itself."""
    assert set(BEGUN_BY) == {s.name for s in VM.states if s.cls == "transitional"}
    assert len(STATES) == 11
