"""Authorization of compound actions: those that have effects on other resources than the one that they name.

A permission on the resource that an action names covers what the action does to others. A policy that forbids one
of these effects rejects the whole action, exactly as it would reject the effect if it were requested by itself: under
the name of the action and under the name of what is asked of each resource. Every resource that is affected is
judged, whatever its state, and none is left out because there are many. Where no policy can forbid any effect,
none of them is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any, NamedTuple
from uuid import UUID

from stead.access.authorization import Authorization, refused, thing_of
from stead.access.caller import Caller
from stead.access.lane_use import lanes_on
from stead.access.policies import PolicyAttributes, PolicyResource, labels_of
from stead.catalog import infrastructure
from stead.catalog.tree import TreeChange
from stead.controller.admission.request import ActionRequest
from stead.controller.execution.preconditions import place_of
from stead.controller.groups.deploys import KIND as SYSTEM
from stead.controller.groups.deploys import planned
from stead.controller.groups.members import Segment, segments
from stead.controller.reconcilers.attachments import FOLLOWS
from stead.controller.steps.cascade import PLANS
from stead.lifecycle.decide.children import REFINE
from stead.lifecycle.decide.group import makes
from stead.lifecycle.decision import Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.files.decoded import InvalidDescription
from stead.lifecycle.rows import Action
from stead.lifecycle.snapshot import OnPartial, Snapshot
from stead.store import Row

YIELD_EVERY = 25
"""Resources about which the policies are asked before the event loop serves others."""
READ_BATCH = 200
"""Resources that are read in full at a time."""

DEPLOYED = frozenset({"create", "update", "scale", "run", "delete"})
"""What a deploy, a teardown or the deletion of a system asks of services and jobs."""
SHARED = ("network", "securitygroup", "sshkey")
REBOOKED = frozenset({"update", "start", "rearm"})
"""What the update of a lease asks of its reservations."""


class DescendantLevel(NamedTuple):
    """Resources of a kind below the one that an action names, and what is asked of them."""

    kind: str
    actions: frozenset[str]
    back: bool = False
    """Only those that were brought where they are together with what is above them."""
    full: bool = False
    """Groups: the lanes that they name are in their specs."""


type Effects = tuple[frozenset[str], Sequence[PolicyResource]]
"""What is asked of some resources."""


def levels(
    kinds: Mapping[str, Lifecycle], kind: str, name: str, *, within: bool = False
) -> Iterator[DescendantLevel]:
    """What an action asks of what is below the resource that it names, in whatever state that is."""
    lifecycle = kinds.get(kind)
    action = lifecycle.action(name) if lifecycle is not None else None
    if lifecycle is None or action is None:
        return
    states = [lifecycle.state(state) for state in action.via]
    asks = frozenset({action.member_action, *(state.member_action for state in states)} - {""})
    member = kinds.get(lifecycle.members)
    if asks and member is not None and (kind != SYSTEM or action.observes):
        yield DescendantLevel(member.kind, asks)
        for each in kinds.values():
            if each.members == member.kind and each.kind != kind and not within:
                yield DescendantLevel(each.kind, asks, full=True)
        for follows in asks:
            yield from levels(kinds, member.kind, follows, within=True)
    for state in action.via:
        plan = PLANS.get((kind, state))
        for child, by_state in (plan.asks if plan is not None else {}).items():
            asks = frozenset(by_state.values()) - {""}
            yield DescendantLevel(child, asks, back=plan is not None and plan.back)
            for follows in asks:
                yield from levels(kinds, child, follows, within=True)
    if (kind, name) == ("lease", "update"):
        yield DescendantLevel("reservation", REBOOKED)


@dataclass(frozen=True)
class CompoundAuthorization:
    """Asks the policies about what an action does to other resources."""

    authorization: Authorization

    async def forbidden(
        self, caller: Caller, request: ActionRequest, row: Row | None, *, dry_run: bool = False
    ) -> Rejection | None:
        """Why a caller may not ask for an action: a policy forbids one of its effects."""
        access, kind = self.authorization.access, row.kind if row is not None else request.kind
        words = self._words(kind, request) if access is not None and not caller.open else frozenset[str]()
        reads = access.policies.forbidding(words) if access is not None and words else None
        if reads is None:
            return None
        evaluated = 0
        async for asks, things in self._effects(kind, request, row, reads):
            for thing in things:
                evaluated += 1
                if evaluated % YIELD_EVERY == 0:
                    await asyncio.sleep(0)
                found = self._rejection(caller, request, asks, thing, dry_run=dry_run)
                if found is not None:
                    return found
        return None

    def _rejection(
        self, caller: Caller, request: ActionRequest, asks: frozenset[str], thing: PolicyResource, *, dry_run: bool
    ) -> Rejection | None:
        for word in (*sorted(asks - {request.action}), request.action):
            admin = self.authorization.for_admins(thing.kind, word)
            verdict = self.authorization.evaluate(
                caller, word, thing, force=request.force, dry_run=dry_run, admin=admin
            )
            if not verdict.allowed and verdict.policies:
                named = (
                    thing.path if self.authorization.sees(caller, thing) else f"something that {request.path} affects"
                )
                return refused(word, named, verdict)
        return None

    def _words(self, kind: str, request: ActionRequest) -> frozenset[str]:
        """All that an action may ask of others, itself included; nothing, where it asks nothing."""
        lifecycle = self.authorization.kinds.get(kind)
        action = self._steered(lifecycle, request.action) if lifecycle is not None else None
        if lifecycle is None or action is None:
            return frozenset()
        found = frozenset[str]().union(
            *(level.actions for level in levels(self.authorization.kinds, kind, action.name))
        )
        if kind == SYSTEM and (action.scoped or action.member_action):
            found |= DEPLOYED
        if kind == "machine" and action.target in FOLLOWS:
            found |= {FOLLOWS[action.target][1]}
        if (kind, action.name) == ("node", "maintain"):
            found |= {"migrate"}
        if request.on_partial is not OnPartial.CONTINUE and found:
            found |= {REFINE}
        return found | {request.action} if found else found

    def _steered(self, lifecycle: Lifecycle, name: str) -> Action | None:
        """The action, or the one that it is a word to and that goes on with it."""
        action = lifecycle.action(name)
        return lifecycle.action(action.signals) if action is not None and action.signals and action.via else action

    async def _effects(
        self, kind: str, request: ActionRequest, row: Row | None, reads: PolicyAttributes
    ) -> AsyncIterator[Effects]:
        kinds, store = self.authorization.kinds, self.authorization.store
        lifecycle = kinds[kind]
        action = self._steered(lifecycle, request.action)
        assert action is not None
        if kind == SYSTEM and not action.observes:
            if row is not None:
                async for effects in self._deployed(lifecycle, request, row):
                    yield effects
            return
        member = kinds.get(lifecycle.members)
        if member is not None and makes(member, action.member_action):
            more = {REFINE} if request.on_partial is not OnPartial.CONTINUE else set[str]()
            async for effects in self._made(kind, request, row, action.member_action, reads):
                yield effects[0] | more, effects[1]
            return
        if row is None:
            return
        if kind == "machine" and action.target in FOLLOWS:
            async for page in store.labels.list_disks(row.path):
                yield frozenset({FOLLOWS[action.target][1]}), [_thing(each) for each in page]
        if (kind, action.name) == ("node", "maintain"):
            async for page in store.labels.list_machines(row.path):
                yield frozenset({"migrate"}), [_thing(each) for each in page]
        for level in levels(kinds, kind, action.name):
            least = request.plan.get("from") if level.kind == lifecycle.members else None
            async for things in self._below(row.path, level, reads, least):
                yield level.actions, things

    async def _below(
        self, path: str, level: DescendantLevel, reads: PolicyAttributes, least: int | None
    ) -> AsyncIterator[list[PolicyResource]]:
        store, lanes = self.authorization.store, "lane" in reads.attributes
        if level.full:
            after = ""
            while paths := await store.resources.list_paths(level.kind, f"{path}/", after, READ_BATCH):
                yield [thing_of(row) for row in (await store.resources.read_many(paths)).values()]
                after = paths[-1]
        elif "path" in reads.attributes or reads.labels is None:
            async for page in store.labels.list_affected([level.kind], path, back=level.back, least=least):
                yield [_thing(each) for each in page]
        else:
            classes = await store.labels.list_affected_classes(
                [level.kind], path, reads.labels, lanes=lanes, back=level.back, least=least
            )
            yield [_thing(each) for each in classes]

    async def _deployed(self, lifecycle: Lifecycle, request: ActionRequest, row: Row) -> AsyncIterator[Effects]:
        """What becomes of services and jobs: as they are, and as they are to be."""
        store = self.authorization.store
        place = place_of(lifecycle, request.action, row.path, request.spec) or row.path
        definition = request.spec.get("definition", {}) if request.action == "deploy" else None
        try:
            changes = await planned(store, row, place, definition)
        except InvalidDescription:
            return  # it cannot be done, which is said elsewhere
        for some in batched(changes, READ_BATCH):
            rows = await store.resources.read_many([change.path for change in some if change.action != "create"])
            for change in some:
                there = rows.get(change.path)
                things = [thing_of(there)] if there is not None else []
                yield frozenset({change.action}), [*things, *_planned(change)]

    async def _made(
        self, kind: str, request: ActionRequest, row: Row | None, create: str, reads: PolicyAttributes
    ) -> AsyncIterator[Effects]:
        """What is made of an infrastructure or of a subgroup that grows: groups, members, and what these share."""
        asks = frozenset({create})
        path, spec = (row.path, row.spec) if row is not None else (request.path, request.spec)
        try:
            if kind != "subgroup":
                wanted = infrastructure.read(spec)
                yield asks, await self._shared(path, wanted)
            elif "count" not in request.plan:
                return
            elif row is None:
                name = path.rpartition("/")[2]
                yield asks, await self._shared(path, infrastructure.with_subgroup({}, name, spec))
            there = row or Row(path, kind, Snapshot(""), "", UUID(int=0), spec)
            for segment in segments(there, {"plan": request.plan}):
                group = PolicyResource(
                    segment.group, "subgroup", labels_of(segment.spec), lanes_on("subgroup", "", segment.spec)
                )
                yield asks, [group] if kind != "subgroup" else []
                for things in batched(_members(segment, each="path" in reads.attributes), READ_BATCH):
                    yield asks, things
        except InvalidDescription:
            return

    async def _shared(self, path: str, wanted: infrastructure.Infrastructure) -> list[PolicyResource]:
        """What the members share and that is to be made for them."""
        needs = infrastructure.shared_by(path, wanted)
        rows = await self.authorization.store.resources.read_states(list(needs))
        return [
            PolicyResource(need.path, need.kind, labels_of(need.spec), lanes_on(need.kind, need.lane, need.spec))
            for need in needs.values()
            if rows.get(need.path, ("", ""))[1] != "Available"
        ]


def _members(segment: Segment, *, each: bool) -> Iterable[PolicyResource]:
    """The members that are to be made; the first stands for all where no policy reads paths."""
    labels = labels_of(segment.spec)
    for offset in range(segment.count if each else min(segment.count, 1)):
        yield PolicyResource(f"{segment.group}/{segment.first + offset}", "vm", labels, (segment.lane,))


def _planned(change: TreeChange) -> list[PolicyResource]:
    """A service or a job as it is to be; what is to go is nothing more."""
    if change.action == "delete":
        return []
    return [
        PolicyResource(
            change.path, change.kind, labels_of(change.spec), lanes_on(change.kind, change.lane, change.spec)
        )
    ]


def _thing(record: Mapping[str, Any]) -> PolicyResource:
    labels = labels_of({"labels": record["labels"]})
    return PolicyResource(
        record["path"], record["kind"], labels, lanes_on(record["kind"], record["lane"], record["spec"])
    )
