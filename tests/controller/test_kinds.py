"""Kinds that somebody registers while controllers run: each knows them soon, and at once where it meets one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from stead.access.access import Access
from stead.access.policies import InvalidPolicy
from stead.application.health import Health
from stead.application.reader import Reader
from stead.build import Authenticator, access_of, open_application, open_engine
from stead.catalog import KINDS
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, NotFound
from stead.controller.dispatch.publisher import order_of
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.kinds.kinds import REFRESH_SECONDS, CompiledKind, Kinds, actions_of
from stead.controller.reconcilers.durations import DurationLearner
from stead.controller.reconcilers.group_state import GroupStateReconciler
from stead.controller.steps.shared_resources import SharedResourceCleanup
from stead.dev.engines import Nats
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.document import load
from stead.lifecycle.events import Request
from stead.lifecycle.pace import DEFAULT
from stead.store import Store
from tests.action_requests import AuthorizedRequest, requested
from tests.integration.whole import controller, until

NOTE = """
kind: note
description: Something that is only written down.
states:
  - {name: Absent, class: absent, description: There is none.}
  - {name: Open, class: stable, description: It is open., observed_as: ''}
  - {name: Shut, class: final, description: It is shut., observed_as: ''}
actions:
  - {name: create, description: Write it down., source: Absent, target: Open, work: none}
  - {name: shut, description: Shut it., source: Open, target: Shut, work: none}
  - {name: delete, description: Forget it., source: [Open, Shut], target: Absent, work: none}
"""
ONLY_OPEN = "\n".join(line for line in NOTE.replace("[Open, Shut]", "Open").splitlines() if "hut" not in line)
SHELF = """
kind: shelf
description: Notes that lie together.
members: note
aggregation: dominant
states:
  - {name: Empty, class: stable, description: There is nothing on it., observed_as: ''}
  - {name: Open, class: stable, description: Most are open., observed_as: ''}
"""
SEEN = {"worlds": 3, "steps": 4, "bounds": {}}


async def put(store: Store, document: str, same: tuple[str, ...] = ()) -> None:
    lifecycle = load(document)
    known = {record["kind"]: record["version"] for record in await store.lifecycles.read_all()}
    assert await store.lifecycles.register(lifecycle, known.get(lifecycle.kind, 0), document, same, SEEN, "ann") == []


@pytest.fixture
async def store(migrated: str) -> AsyncIterator[Store]:
    async with Store.open(migrated, connections=3) as one:
        yield one


def wish(action: str, path: str = "/shop/n1") -> AuthorizedRequest:
    return requested("note", path, Request(action), "ann")


async def test_two_controllers_know_it_soon(migrated: str, nats_server: Nats, cell: str) -> None:
    without = ("partitions", "learning")
    async with (
        controller(migrated, nats_server, cell, without=without) as one,
        controller(migrated, nats_server, cell, without=without) as other,
    ):
        await put(one.store, NOTE)
        began = time.monotonic()

        async def known() -> bool:
            return all("note" in each.kinds for each in (one, other))

        await until(known)
        assert time.monotonic() - began < REFRESH_SECONDS + 30  # a busy machine takes longer than it says
        assert isinstance(await one.admission.admit(*wish("create")), Accepted)
        assert isinstance(await other.admission.admit(*wish("shut")), Accepted)


async def test_whoever_begins_knows_it_before_anybody_asks(
    store: Store, migrated: str, nats_server: Nats, cell: str
) -> None:
    await put(store, NOTE)
    async with (
        open_engine(migrated, nats_server.url, cell) as begun,
        open_application(migrated, nats_server.url, cell) as opened,
    ):
        assert begun.application.kinds["note"] is begun.controller.executor.kinds["note"]
        assert "note" in opened.kinds
        await put(store, SHELF)

        async def heard() -> bool:
            return "shelf" in opened.kinds

        await until(heard)


async def test_one_that_has_not_heard_of_it_reads_it_when_it_meets_it(store: Store) -> None:
    admission = Admission(TransitionExecutor(store, KINDS, time.time))
    assert isinstance(await admission.admit(*wish("create")), NotFound)
    await put(store, NOTE)
    assert isinstance(await admission.admit(*wish("create")), Accepted)


async def test_whoever_has_read_something_of_it_still_finds_it(store: Store) -> None:
    kinds = Kinds(KINDS, store)
    await put(store, NOTE)
    await kinds.fresh()
    assert kinds["note"] is kinds.get("note")
    assert await store.lifecycles.unregister("note", "ann") == []
    await kinds.fresh()
    assert kinds["note"].kind == "note"
    assert ("note" in kinds, kinds.get("note"), await kinds.find("note"), "note" in list(kinds)) == (
        False,
        None,
        None,
        False,
    )


async def test_a_wish_is_not_for_what_has_taken_the_place_of_what_it_means(store: Store) -> None:
    await put(store, NOTE)
    admission = Admission(TransitionExecutor(store, KINDS, time.time))
    assert isinstance(await admission.admit(*wish("create")), Accepted)
    for kind in ("mci", "vm"):
        answer = await admission.admit(*requested(kind, "/shop/n1", Request("delete"), "ann"))
        assert isinstance(answer, NotFound), kind
    row = await store.resources.read("/shop/n1")
    assert row is not None
    assert (row.kind, row.snapshot.state) == ("note", "Open")


async def test_what_follows_from_all_kinds_is_made_anew(store: Store) -> None:
    kinds = Kinds(KINDS, store, DEFAULT.scaled(2))
    executor, view = TransitionExecutor(store, kinds, time.time), Reader(store, kinds)
    sharing, following, learning = (
        SharedResourceCleanup(Admission(executor)),
        GroupStateReconciler(executor),
        DurationLearner(store, kinds),
    )
    access = access_of(Authenticator(), store, kinds)
    forbids = 'forbid (principal, action == Action::"shut", resource);'
    with pytest.raises(InvalidPolicy):
        await access.put_policy("never", forbids, "ann")
    assert "Shut" not in sharing.ended()
    await put(store, NOTE)
    await put(store, SHELF)
    assert await kinds.fresh()
    assert not await kinds.fresh()
    assert kinds["note"].pace == DEFAULT.scaled(2)
    assert "Shut" in sharing.ended()
    assert "shelf" in following.groups()
    assert {kind for kind, *_ in learning.well()} >= {"vm"}
    assert view.healths.of("note", "Open") is Health.WELL
    await access.put_policy("never", forbids, "ann")
    assert isinstance(access, Access)
    told = {"kind": "note", "id": 1, "lane": "x", "verb": "v", "operation": "o", "attempt": 1, "members": []}
    assert not order_of(told, kinds).report_start


async def test_decisions_by_another_document_are_forgotten(store: Store) -> None:
    kinds = Kinds(KINDS, store)
    admission = Admission(TransitionExecutor(store, kinds, time.time))
    await put(store, NOTE)
    await admission.admit(*wish("create"))
    await put(store, ONLY_OPEN)
    answer = await admission.admit(*wish("shut"))
    assert isinstance(answer, Rejection)
    assert answer.code is Code.UNKNOWN_ACTION
    row = await store.resources.read("/shop/n1")
    assert row is not None
    assert row.snapshot.state == "Open"


async def test_whoever_registers_waits_for_what_is_being_written(migrated: str, store: Store) -> None:
    """And it is counted: nothing comes into a state that the document lacks."""
    admission = Admission(TransitionExecutor(store, KINDS, time.time))
    await put(store, NOTE)
    await admission.admit(*wish("create"))
    async with Store.open(migrated, connections=2) as other:
        for round in range(20):
            path = f"/shop/r{round}"
            await admission.admit(*wish("create", path))
            lifecycle, version = load(ONLY_OPEN), (await other.lifecycles.read_all())[0]["version"]
            _, left = await asyncio.gather(
                admission.admit(*wish("shut", path)),
                other.lifecycles.register(lifecycle, version, ONLY_OPEN, [], SEEN, "ann"),
            )
            row = await store.resources.read(path)
            assert row is not None
            assert (row.snapshot.state == "Shut") == bool(left)
            if left:
                await admission.admit(*wish("delete", path))
            else:
                await put(store, NOTE)


async def test_somebody_else_was_first(store: Store) -> None:
    lifecycle = load(NOTE)
    await put(store, NOTE)
    (left,) = await store.lifecycles.register(lifecycle, 0, NOTE, [], SEEN, "ben")
    assert left.what == "version"


async def test_a_document_that_cannot_be_read_is_no_beginning(store: Store) -> None:
    await put(store, NOTE)
    with pytest.raises(ValueError, match="note is built in by now"):
        await Kinds({**KINDS, "note": load(NOTE)}, store).fresh()


async def test_made_is_made_once() -> None:
    kinds, made = Kinds(KINDS), list[int]()
    one = CompiledKind(kinds, lambda known: made.append(len(known)))
    for _ in range(3):
        one()
    assert made == [len(KINDS)]
    assert "suspend" in actions_of(kinds)


async def test_new_database_has_no_registered_lifecycle(migrated: str) -> None:
    async with Store.open(migrated, connections=1) as store:
        assert await store.lifecycles.read_all() == []
        assert await store.lifecycles.read_edition() == 0
