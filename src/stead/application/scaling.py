"""Policies that follow demand, as an interface sees them: put in force, told the demand, looked at, taken away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from stead.access.authorized import Authorized
from stead.access.caller import Caller
from stead.access.lane_use import LaneUse, not_allowed
from stead.access.policies import DEMAND, NAMESPACE, SCALING, VIEW, PolicyResource, labels_of
from stead.application.commands import Application
from stead.application.compound import YIELD_EVERY
from stead.application.models import InvalidRequest, Page
from stead.application.names import operation_id
from stead.application.scaling_policy import ScalingPolicy
from stead.catalog import scaling
from stead.catalog.edge import lane_of
from stead.catalog.scaling import PolicyInput
from stead.controller.admission.limits import exceeded
from stead.controller.admission.request import NotFound
from stead.lifecycle.decision import Rejection
from stead.schema import Model
from stead.store import scaling as records
from stead.store.scaling import ALL


@dataclass(frozen=True)
class KnownDemand(Model):
    """The latest figure of demand."""

    place: str | None
    """Null for that of all places together."""
    value: float
    at: datetime
    reported_by: str = ""


@dataclass(frozen=True)
class ScalingAction(Model):
    """What a policy did last at a place."""

    place: str
    action: str
    at: datetime
    operation: str | None
    ended_at: datetime | None
    failed: bool
    """It ended otherwise than it was to; the place is left alone for a while."""


@dataclass(frozen=True)
class ScaledInstance(Model):
    """An instance that counts."""

    path: str
    state: str
    own: bool
    """The policy made it, and may delete it."""


@dataclass(frozen=True)
class Scaling(Model):
    """A policy in force, what it found last, and what it did."""

    namespace: str
    name: str
    policy: ScalingPolicy
    changed_by: str
    changed_at: datetime
    code: str
    """What it came to: `acts`, `rests`, or what holds it back."""
    message: str
    """The same in a sentence, with the figures."""
    evaluated_at: datetime | None
    """When that was."""
    demand: tuple[KnownDemand, ...]
    actions: tuple[ScalingAction, ...]
    instances: tuple[ScaledInstance, ...]
    """The instances under the policy's name; left out in a list of policies."""


@dataclass(frozen=True)
class ScalingPolicies:
    """What callers do with policies that follow demand."""

    application: Application

    async def put(
        self, namespace: str, name: str, text: Mapping[str, Any], authorized: Authorized
    ) -> Scaling | InvalidRequest | Rejection | NotFound:
        """Put a policy in force. It may do no more than whoever puts it could have asked for."""
        authorized.check(SCALING)
        policy = scaling.read(text)
        found = [(f"body.{where}", says) for where, says in scaling.wrong(policy, namespace)]
        found += [(f"body.{where}", says) for where, says in exceeded("", policy.spec)]
        if found:
            (field, says), *more = found
            return InvalidRequest(field, says, tuple(more))
        async for action, thing in self._deeds(namespace, name, policy):
            may = self.application.authorization.authorize(authorized.caller, action, thing)
            if isinstance(may, Rejection):
                return may
        used = LaneUse(frozenset(map(lane_of, policy.places))).written(f"/{namespace}")
        if refused := await self.application.reader.store.lanes.find_denied(used):
            return not_allowed(refused)
        figures = [ALL] if policy.demand is PolicyInput.TOTAL else policy.places
        kept = scaling.written(policy)
        await self.application.reader.store.scaling.put(
            namespace, name, kept, policy.places, figures, authorized.principal
        )
        return await self.read(namespace, name, self.application.authorization.view(authorized.caller))

    async def _deeds(
        self, namespace: str, name: str, policy: scaling.Policy
    ) -> AsyncIterator[tuple[str, PolicyResource]]:
        """All that a policy may ask for: every instance that it may make and delete, and those that it has made."""
        access = self.application.access
        reads = access.policies.forbidding(("create", "delete")) if access is not None else None
        most = min(policy.maximum, policy.maximum_at_place) if reads is not None and "path" in reads.attributes else 1
        maker = scaling.principal(namespace, name)
        labels = labels_of(scaling.spec_of(policy, maker))
        for place in policy.places:
            for number in range(1, most + 1):
                where = place.replace("*", str(number)) if scaling.is_series(place) else place
                thing = PolicyResource(f"{where}/{policy.name}-{number}", policy.kind, labels, (lane_of(place),))
                yield "create", thing
                yield "delete", thing
                if number % YIELD_EVERY == 0:
                    await asyncio.sleep(0)
        for row in await self.application.reader.store.scaling.read_instances(policy.places, policy.name):
            if row["kind"] == policy.kind and scaling.made_by(row["spec"]) == maker:
                yield (
                    "delete",
                    PolicyResource(row["path"], policy.kind, labels_of(row["spec"]), (lane_of(row["path"]),)),
                )

    async def read(self, namespace: str, name: str, authorized: Authorized) -> Scaling | NotFound:
        """A policy as it stands."""
        authorized.check(VIEW)
        seen = self.application.authorization.sees(authorized.caller, _place(namespace))
        kept = await self.application.reader.store.scaling.read(namespace, name) if seen else None
        if kept is None:
            return _missing(namespace, name)
        policy = scaling.read(kept.policy)
        rows = await self.application.reader.store.scaling.read_instances(policy.places, policy.name)
        maker = scaling.principal(namespace, name)
        instances = [
            ScaledInstance(row["path"], row["state"], scaling.made_by(row["spec"]) == maker)
            for row in sorted(rows, key=lambda row: str(row["path"]))
            if row["kind"] == policy.kind and scaling.is_instance(policy, row["path"].rpartition("/")[2])
        ]
        return _shown(kept, instances)

    async def all(
        self, namespace: str | None, after: tuple[str, str], limit: int, authorized: Authorized
    ) -> Page[Scaling]:
        """Policies in order of namespace and name, without their instances."""
        authorized.check(VIEW)
        kept = await self.application.reader.store.scaling.read_page(namespace, after, limit)
        theirs = await self.application.authorization.visible(
            authorized.caller, kept, lambda one: f"/{one.namespace}", lambda _: NAMESPACE
        )
        last = f"{kept[-1].namespace}/{kept[-1].name}" if len(kept) == limit else None
        return Page(tuple(_shown(one, ()) for one in theirs), next=last)

    async def remove(self, namespace: str, name: str, authorized: Authorized) -> NotFound | None:
        """Take a policy away; what it made stays."""
        authorized.check(SCALING)
        gone = await self.application.reader.store.scaling.remove(namespace, name)
        return None if gone else _missing(namespace, name)

    async def record_demand(
        self, namespace: str, name: str, figures: Sequence[tuple[str, float, datetime | None]], authorized: Authorized
    ) -> int | InvalidRequest | NotFound:
        """Record the demand; how many figures were newer than what was known."""
        authorized.check(DEMAND)
        store = self.application.reader.store
        now = store.clock()
        kept = await store.scaling.read(namespace, name)
        if kept is None:
            return _missing(namespace, name)
        policy = scaling.read(kept.policy)
        allowed = [ALL] if policy.demand is PolicyInput.TOTAL else policy.places
        for n, (place, _, _) in enumerate(figures):
            if place not in allowed:
                says = (
                    "it follows one figure for all places"
                    if policy.demand is PolicyInput.TOTAL
                    else "it has no such place"
                )
                return InvalidRequest(f"body.figures.{n}.place", f"{says}: {place or 'a place is to be named'}")
        if len({place for place, _, _ in figures}) < len(figures):
            return InvalidRequest("body.figures", "a place is there twice")
        told = [(place, value, at.timestamp() if at is not None else now) for place, value, at in figures]
        return await store.scaling.record_demand(namespace, name, told, now, authorized.principal)

    def authorize(self, action: str, namespace: str, name: str, caller: Caller) -> Authorized | NotFound:
        """The permission for an action on a policy; that it is not there, where they may not see the namespace.

        Raises `NotPermitted` where they may see it.
        """
        authorization, place = self.application.authorization, _place(namespace)
        if not authorization.evaluate(caller, action, place).allowed and not authorization.sees(caller, place):
            return _missing(namespace, name)
        return authorization.require(caller, action, place)


def _place(namespace: str) -> PolicyResource:
    return PolicyResource(f"/{namespace}", NAMESPACE)


def _missing(namespace: str, name: str) -> NotFound:
    return NotFound(f"there is no scaling policy {namespace}/{name}")


def _time(at: Any) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(float(at), UTC)


def _shown(kept: records.Scaling, instances: Sequence[ScaledInstance]) -> Scaling:
    demand = [
        KnownDemand(place or None, said["value"], datetime.fromtimestamp(float(said["at"]), UTC), said["told_by"])
        for place, said in sorted(kept.demand.items())
    ]
    acts = [
        ScalingAction(
            act["place"],
            "create" if act["more"] else "delete",
            datetime.fromtimestamp(act["at"], UTC),
            operation_id(f"/{kept.namespace}", act["operation"]) if act["operation"] else None,
            _time(act["ended"]),
            act["failed"],
        )
        for act in sorted(kept.acts, key=lambda act: float(act["at"]), reverse=True)
    ]
    return Scaling(
        namespace=kept.namespace,
        name=kept.name,
        policy=ScalingPolicy(**kept.policy),
        changed_by=kept.changed_by,
        changed_at=kept.changed_at,
        code=str(kept.verdict.get("code", "new")),
        message=str(kept.verdict.get("says", "nobody has looked at it yet")),
        evaluated_at=_time(kept.verdict.get("at")),
        demand=tuple(demand),
        actions=tuple(acts),
        instances=tuple(instances),
    )
