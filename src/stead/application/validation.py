"""Whether what is asked for makes sense, whatever the state, and what it means in full."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stead.application import systems
from stead.application.models import Asked, InvalidRequest, ResourceNotFound
from stead.application.spec_fields import misspelled
from stead.catalog import edge, infrastructure
from stead.catalog.infrastructure import RESERVED
from stead.controller.admission.limits import exceeded
from stead.controller.steps import lease_spec
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.files.decoded import InvalidDescription
from stead.store import Store

_LANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_SITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
"""Of namespaces and sites: both are part of the name of a lane."""

EDGE = {"cloudlet": "/ns/site", "clusterinst": "/ns/site/cluster", "appinst": "/ns/site/cluster/app"}
"""Where what is of the edge family lies."""

SCALES = ("scale-out", "scale-in")


async def fitted(
    store: Store, kinds: Mapping[str, Lifecycle], asked: Asked
) -> Asked | InvalidRequest | ResourceNotFound:
    """What is asked for, with what follows from it; or what is wrong with it."""
    deploys = asked.action == systems.DEPLOY and asked.kind in ("", systems.SYSTEM) and "definition" in asked.spec
    if found := tuple(exceeded(asked.path, {} if deploys else asked.spec)):  # each part of a deploy is checked below
        (field, says), *more = found
        return InvalidRequest(field, says, tuple(more))
    if asked.spec and (slips := await _misspelled(store, kinds, asked)):
        (field, says), *more = slips
        return InvalidRequest(field, says, tuple(more))
    if asked.kind in EDGE:
        return _at_site(asked)
    asked = with_lane(asked)
    if asked.lane and not _LANE.fullmatch(asked.lane):
        return InvalidRequest("lane", f"{asked.lane!r} is not a lane: letters, digits, dots, dashes, at most 100")
    if asked.action in SCALES and asked.kind in ("", "subgroup"):
        return await _scaled(store, asked)
    if asked.action == "add" and asked.kind == "subgroup":
        return await _added(store, asked)
    if asked.action == systems.DEPLOY and await _kind(store, asked) in ("", systems.SYSTEM):
        return await systems.fit(store, asked)
    if asked.action == systems.TEARDOWN and asked.spec:
        return InvalidRequest("spec", "a teardown is of the whole system: it brings nothing")
    if asked.kind == "lease" and asked.action in ("create", "update"):
        return _lease(asked, store.clock())
    lifecycle = kinds.get(asked.kind)
    action = lifecycle.action(asked.action) if lifecycle is not None else None
    if lifecycle is None or action is None or lifecycle.initial.name not in action.starts:
        return asked
    if asked.kind == "mci":
        return _infrastructure(asked)
    if asked.kind == systems.SYSTEM:
        return systems.founded(asked)
    if not asked.lane and action.verbs:
        return InvalidRequest("lane", "say which lane leads to it, or give provider and region in the spec")
    return asked


async def _kind(store: Store, asked: Asked) -> str:
    """The kind that is asked for, or that is there; nothing where there is neither."""
    return asked.kind or (await store.resources.read_states([asked.path])).get(asked.path, ("", ""))[0]


async def _misspelled(store: Store, kinds: Mapping[str, Lifecycle], asked: Asked) -> tuple[tuple[str, str], ...]:
    """Fields of what is made, or updated, that are nearly those that its kind has."""
    kind = await _kind(store, asked)
    lifecycle = kinds.get(kind)
    action = lifecycle.action(asked.action) if lifecycle is not None else None
    if (
        lifecycle is None
        or action is None
        or not (lifecycle.initial.name in action.starts or action.name == "update")
    ):
        return ()
    return tuple(misspelled(kind, asked.spec))


def _at_site(asked: Asked) -> Asked | InvalidRequest:
    """A site, or what is on one: the lane follows from the path."""
    names = asked.path.split("/")[1:]
    if len(names) != EDGE[asked.kind].count("/"):
        return InvalidRequest("path", f"a {asked.kind} lies at a path like {EDGE[asked.kind]}")
    if not all(map(_SITE.fullmatch, names[:2])):
        return InvalidRequest(
            "path", "namespaces and sites have names of letters, digits, dashes, at most 40, and no dots"
        )
    lane = edge.lane_of(asked.path)
    if asked.lane not in ("", lane):
        return InvalidRequest("lane", f"{lane} leads to it, and no other lane")
    return replace(asked, lane=lane)


def with_lane(asked: Asked) -> Asked:
    """The lane follows from provider and region, where it is not said."""
    provider, region = asked.spec.get("provider"), asked.spec.get("region")
    if asked.lane or not (provider and region):
        return asked
    return replace(asked, lane=f"{provider}.{region}")


def lane_of(asked: Asked) -> str:
    """The lane that what is asked for would be on, as far as that can be said before anything else is looked at."""
    if asked.kind in EDGE:
        return edge.lane_of(asked.path) if asked.path.count("/") > 1 else ""
    return with_lane(asked).lane


def _lease(asked: Asked, now: float) -> Asked | InvalidRequest:
    """A lease lies in a namespace; what it says is kept in one way. What is left out of an update stays."""
    if len(asked.path.split("/")) != 3:
        return InvalidRequest("path", "a lease lies right below its namespace, as in /lab/monday")
    try:
        spec = lease_spec.complete(asked.spec, now)
        if asked.action == "create":
            lease_spec.read(spec)
    except lease_spec.InvalidLeaseSpec as wrong:
        return InvalidRequest(wrong.field, wrong.says)
    return replace(asked, spec=spec)


def _infrastructure(asked: Asked) -> Asked | InvalidRequest:
    """An infrastructure lies in a namespace, and says what it is to be."""
    names = asked.path.split("/")[1:]
    if len(names) != 2:
        return InvalidRequest("path", "an infrastructure lies right below its namespace, as in /shop/web")
    if names[1] in RESERVED:
        return InvalidRequest("path", f"no infrastructure can be called {names[1]}: what VMs share lies there")
    try:
        infrastructure.read(asked.spec)
    except InvalidDescription as wrong:
        said = [(".".join(map(str, ("spec", *problem.path))), problem.says) for problem in wrong.problems]
        (field, says), *more = said
        return InvalidRequest(field, says, tuple(more))
    return asked


async def _added(store: Store, asked: Asked) -> Asked | InvalidRequest:
    """A subgroup that is added to an infrastructure, with what it has of its defaults, and how many VMs it gets."""
    above, _, name = asked.path.rpartition("/")
    parent = await store.resources.read(above)
    if asked.path.count("/") != 3:
        return InvalidRequest("path", "a subgroup lies right below its infrastructure, as in /shop/web/front")
    if parent is None or parent.kind != "mci":
        return asked  # there is nothing that it could be added to, which is said elsewhere
    try:
        (part,) = infrastructure.parts(infrastructure.with_subgroup(parent.spec, name, asked.spec))
    except InvalidDescription as wrong:
        said = [(_of_subgroup(problem.path), problem.says) for problem in wrong.problems]
        (field, says), *more = said
        return InvalidRequest(field, says, tuple(more))
    return replace(asked, lane="", spec=part.written(), plan={"first": 1, "count": part.size})


def _of_subgroup(path: Sequence[str | int]) -> str:
    """The field of a request for a subgroup, from the one of the infrastructure that it was read as."""
    own = path[2:] if path[:1] == ("subgroups",) else path
    return "path" if own == ("name",) else ".".join(map(str, ("spec", *own)))


async def _scaled(store: Store, asked: Asked) -> Asked | InvalidRequest:
    """The numbers of the VMs that a subgroup is to have more, or less."""
    out = asked.action == "scale-out"
    size, by = asked.spec.get("size"), asked.spec.get("by")
    if (size is None) == (by is None) or not all(type(n) is int and n >= 0 for n in (size, by) if n is not None):
        return InvalidRequest(
            "spec", "say the size it is to have, or by how many VMs it changes: size or by, a number"
        )
    have, last, _ = await store.groups.read_numbers(asked.path, 1)
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
        more = {"from": (await store.groups.read_numbers(asked.path, have - wanted))[2]}
    return replace(asked, plan=more)
