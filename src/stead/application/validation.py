"""Whether what is asked for makes sense, whatever the state, and what it means in full."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stead.access.authorization import asked_thing
from stead.access.policies import PolicyResource
from stead.application import systems
from stead.application.models import InvalidRequest
from stead.application.spec_fields import misspelled
from stead.catalog import edge, infrastructure
from stead.catalog.infrastructure import RESERVED
from stead.controller.admission.limits import exceeded
from stead.controller.admission.request import ActionRequest, NotFound
from stead.controller.steps import lease_spec
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.files.decoded import InvalidDescription
from stead.store import Row, Store

_LANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_SITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
"""Of namespaces and sites: both are part of the name of a lane."""

EDGE = {"cloudlet": "/ns/site", "clusterinst": "/ns/site/cluster", "appinst": "/ns/site/cluster/app"}
"""Where what is of the edge family lies."""

SCALES = ("scale-out", "scale-in")


async def fitted(
    store: Store, kinds: Mapping[str, Lifecycle], request: ActionRequest
) -> ActionRequest | InvalidRequest | NotFound:
    """What is asked for, with what follows from it; or what is wrong with it."""
    deploys = (
        request.action == systems.DEPLOY and request.kind in ("", systems.SYSTEM) and "definition" in request.spec
    )
    if found := tuple(
        exceeded(request.path, {} if deploys else request.spec)
    ):  # each part of a deploy is checked below
        (field, says), *more = found
        return InvalidRequest(field, says, tuple(more))
    if request.spec and (slips := await _misspelled(store, kinds, request)):
        (field, says), *more = slips
        return InvalidRequest(field, says, tuple(more))
    if request.kind in EDGE:
        return _at_site(request)
    request = with_lane(request)
    if request.lane and not _LANE.fullmatch(request.lane):
        return InvalidRequest("lane", f"{request.lane!r} is not a lane: letters, digits, dots, dashes, at most 100")
    if request.action in SCALES and request.kind in ("", "subgroup"):
        return await _scaled(store, request)
    if request.action == "add" and request.kind == "subgroup":
        return await _added(store, request)
    if request.action == systems.DEPLOY and await _kind(store, request) in ("", systems.SYSTEM):
        return await systems.fit(store, request)
    if request.action == systems.TEARDOWN and request.spec:
        return InvalidRequest("spec", "a teardown is of the whole system: it brings nothing")
    if request.kind == "lease" and request.action in ("create", "update"):
        return _lease(request, store.clock())
    lifecycle = kinds.get(request.kind)
    action = lifecycle.action(request.action) if lifecycle is not None else None
    if lifecycle is None or action is None or lifecycle.initial.name not in action.source:
        return request
    if request.kind == "mci":
        return _infrastructure(request)
    if request.kind == systems.SYSTEM:
        return systems.founded(request)
    if not request.lane and action.verbs:
        return InvalidRequest("lane", "say which lane leads to it, or give provider and region in the spec")
    return request


async def _kind(store: Store, request: ActionRequest) -> str:
    """The kind that is asked for, or that is there; nothing where there is neither."""
    return request.kind or (await store.resources.read_states([request.path])).get(request.path, ("", ""))[0]


async def _misspelled(
    store: Store, kinds: Mapping[str, Lifecycle], request: ActionRequest
) -> tuple[tuple[str, str], ...]:
    """Fields of what is made, or updated, that are nearly those that its kind has."""
    kind = await _kind(store, request)
    lifecycle = kinds.get(kind)
    action = lifecycle.action(request.action) if lifecycle is not None else None
    if (
        lifecycle is None
        or action is None
        or not (lifecycle.initial.name in action.source or action.name == "update")
    ):
        return ()
    return tuple(misspelled(kind, request.spec))


def _at_site(request: ActionRequest) -> ActionRequest | InvalidRequest:
    """A site, or what is on one: the lane follows from the path."""
    names = request.path.split("/")[1:]
    if len(names) != EDGE[request.kind].count("/"):
        return InvalidRequest("path", f"a {request.kind} lies at a path like {EDGE[request.kind]}")
    if not all(map(_SITE.fullmatch, names[:2])):
        return InvalidRequest(
            "path", "namespaces and sites have names of letters, digits, dashes, at most 40, and no dots"
        )
    lane = edge.lane_of(request.path)
    if request.lane not in ("", lane):
        return InvalidRequest("lane", f"{lane} leads to it, and no other lane")
    return replace(request, lane=lane)


def with_lane(request: ActionRequest) -> ActionRequest:
    """The lane follows from provider and region, where it is not said."""
    provider, region = request.spec.get("provider"), request.spec.get("region")
    if request.lane or not (provider and region):
        return request
    return replace(request, lane=f"{provider}.{region}")


def requested_thing(request: ActionRequest, row: Row | None) -> PolicyResource:
    """The resource of a request as policies see it: what is there, or what would be."""
    return asked_thing(request.path, request.kind, request.spec, row, request.action, lane_of(request))


def lane_of(request: ActionRequest) -> str:
    """The lane that what is asked for would be on, as far as that can be said before anything else is looked at."""
    if request.kind in EDGE:
        return edge.lane_of(request.path) if request.path.count("/") > 1 else ""
    return with_lane(request).lane


def _lease(request: ActionRequest, now: float) -> ActionRequest | InvalidRequest:
    """A lease lies in a namespace; what it says is kept in one way. What is left out of an update stays."""
    if len(request.path.split("/")) != 3:
        return InvalidRequest("path", "a lease lies right below its namespace, as in /lab/monday")
    try:
        spec = lease_spec.complete(request.spec, now)
        if request.action == "create":
            lease_spec.read(spec)
    except lease_spec.InvalidLeaseSpec as wrong:
        return InvalidRequest(wrong.field, wrong.says)
    return replace(request, spec=spec)


def _infrastructure(request: ActionRequest) -> ActionRequest | InvalidRequest:
    """An infrastructure lies in a namespace, and says what it is to be."""
    names = request.path.split("/")[1:]
    if len(names) != 2:
        return InvalidRequest("path", "an infrastructure lies right below its namespace, as in /shop/web")
    if names[1] in RESERVED:
        return InvalidRequest("path", f"no infrastructure can be called {names[1]}: what VMs share lies there")
    try:
        infrastructure.read(request.spec)
    except InvalidDescription as wrong:
        said = [(".".join(map(str, ("spec", *problem.path))), problem.message) for problem in wrong.problems]
        (field, says), *more = said
        return InvalidRequest(field, says, tuple(more))
    return request


async def _added(store: Store, request: ActionRequest) -> ActionRequest | InvalidRequest:
    """A subgroup that is added to an infrastructure, with what it has of its defaults, and how many VMs it gets."""
    above, _, name = request.path.rpartition("/")
    parent = await store.resources.read(above)
    if request.path.count("/") != 3:
        return InvalidRequest("path", "a subgroup lies right below its infrastructure, as in /shop/web/front")
    if parent is None or parent.kind != "mci":
        return request  # there is nothing that it could be added to, which is said elsewhere
    try:
        (part,) = infrastructure.parts(infrastructure.with_subgroup(parent.spec, name, request.spec))
    except InvalidDescription as wrong:
        said = [(_of_subgroup(problem.path), problem.message) for problem in wrong.problems]
        (field, says), *more = said
        return InvalidRequest(field, says, tuple(more))
    return replace(request, lane="", spec=part.written(), plan={"first": 1, "count": part.size})


def _of_subgroup(path: Sequence[str | int]) -> str:
    """The field of a request for a subgroup, from the one of the infrastructure that it was read as."""
    own = path[2:] if path[:1] == ("subgroups",) else path
    return "path" if own == ("name",) else ".".join(map(str, ("spec", *own)))


async def _scaled(store: Store, request: ActionRequest) -> ActionRequest | InvalidRequest:
    """The numbers of the VMs that a subgroup is to have more, or less."""
    out = request.action == "scale-out"
    size, by = request.spec.get("size"), request.spec.get("by")
    if (size is None) == (by is None) or not all(type(n) is int and n >= 0 for n in (size, by) if n is not None):
        return InvalidRequest(
            "spec", "say the size it is to have, or by how many VMs it changes: size or by, a number"
        )
    have, last, _ = await store.groups.read_numbers(request.path, 1)
    wanted = int(size) if size is not None else have + int(by or 0) * (1 if out else -1)
    if out and not have < wanted <= infrastructure.MOST:
        return InvalidRequest(
            "spec.size", f"it has {have} VMs, and can have {infrastructure.MOST:,}: {wanted} will not do"
        )
    if not out and not 0 <= wanted < have:
        return InvalidRequest("spec.size", f"it has {have} VMs, and {wanted} is not less")
    if out:
        more = {"first": last + 1, "count": wanted - have}
    else:
        more = {"from": (await store.groups.read_numbers(request.path, have - wanted))[2]}
    return replace(request, plan=more)
