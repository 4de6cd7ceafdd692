"""A scaling policy: how many instances of an app, or clusters, there are to be over some places, as demand has it.

Apps have clusters as places, clusters have sites. The policy says what an instance is to be, where instances may be,
how few and how many, and from which demand for each instance on one more is wanted, or one less. What follows is in
`demand`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from stead.catalog.edge import APPINST, CLUSTERINST

MOST = 1000
"""Instances that one policy may ask for."""
PLACES = 200
"""Places that one policy may have."""
WEEK = 7 * 86400.0

MADE_BY = "made-by"
"""The label that says which policy made an instance."""
PRINCIPAL = "policy"
"""What stands before the name of a policy where it acts."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_SITE = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*){2}")
_CLUSTER = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*){3}")
_SERIES = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*){3}-\*")
"""Clusters that are called the same, with a number behind it, as a policy for clusters calls them."""


class PolicyInput(StrEnum):
    """What the figures of demand are of."""

    TOTAL = "total"
    """One figure for all places together."""
    PLACE = "place"
    """A figure for each place, and each place follows its own."""


class Choice(StrEnum):
    """Which place comes next."""

    ORDER = "order"
    """The first that has room, in the order in which the policy names them; the last is emptied first."""
    SPREAD = "spread"
    """The one with the fewest instances; the one with the most gives one up."""


Count = Annotated[int, Meta(ge=0, le=MOST)]
Seconds = Annotated[float, Meta(ge=0, le=WEEK)]


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is wanted."""

    places: Annotated[tuple[str, ...], Meta(min_length=1, max_length=PLACES)]
    """Where instances may be, as paths: clusters, or for clusters sites. `/shop/berlin/k-*` is every cluster of that
    site that is called k-1, k-2 and so on."""
    up_above: float
    """One more is wanted where the demand for each instance is above this."""
    down_below: float
    """One less is wanted where the demand for each instance is below this."""
    maximum: Annotated[int, Meta(ge=1, le=MOST)]
    """Over all places; whatever has the name counts, whoever made it."""
    app: str = ""
    """Instances are apps that are called this, with a number behind it."""
    cluster: str = ""
    """Instances are clusters that are called this, with a number behind it; either this or `app` is said."""
    minimum: Count = 0
    maximum_at_place: Annotated[int, Meta(ge=1, le=MOST)] = MOST
    minimum_at_place: Count = 0
    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    """What each instance is to be."""
    demand: PolicyInput = PolicyInput.TOTAL
    choice: Choice = Choice.ORDER
    step: Annotated[int, Meta(ge=1, le=100)] = 1
    """At most so many more or less at once."""
    cooldown_up: Seconds = 60.0
    """So long after anything it did is done, there is no further one more."""
    cooldown_down: Seconds = 300.0
    """So long after anything it did is done, there is no one less."""
    believed_for: Annotated[float, Meta(gt=0, le=WEEK)] = 120.0
    """A figure of demand counts for so long. After that nothing is changed for it."""

    @property
    def name(self) -> str:
        """What instances are called, before the number."""
        return self.app or self.cluster

    @property
    def kind(self) -> str:
        """What instances are."""
        return CLUSTERINST.kind if self.cluster else APPINST.kind


def read(written: Mapping[str, Any]) -> Policy:
    """A policy from what is kept of it. Raises `ValueError` where it is none."""
    return msgspec.convert(written, Policy)


def written(policy: Policy) -> dict[str, Any]:
    """A policy as it is kept."""
    kept: dict[str, Any] = msgspec.to_builtins(policy)
    return kept


def wrong(policy: Policy, namespace: str) -> Iterator[tuple[str, str]]:
    """What makes no sense in it, by field. One that passes cannot undo its own step because of that step."""
    if policy.app and policy.cluster:
        yield "cluster", "a policy is for an app or for clusters: leave one of the two names out"
    elif not _NAME.fullmatch(policy.name):
        says = "a name has letters, digits, dots, dashes, at most 63" if policy.name else "name an app or a cluster"
        yield "cluster" if policy.cluster else "app", says
    yield from _wrong_places(policy, namespace)
    if not (policy.down_below > 0 and policy.up_above < float("inf")):
        yield "down_below", "demand for each instance is a number above zero"
    elif policy.down_below * 2 > policy.up_above:
        says = "it has to be at most half of up_above: otherwise the step from one to two is taken back at once"
        yield "down_below", says
    if policy.minimum > policy.maximum:
        yield "minimum", f"it is more than the maximum of {policy.maximum}"
    if policy.minimum_at_place > policy.maximum_at_place:
        yield "minimum_at_place", f"it is more than the maximum of {policy.maximum_at_place}"
    if policy.minimum_at_place * len(policy.places) > policy.maximum:
        yield "minimum_at_place", f"at {len(policy.places)} places that is more than the maximum of {policy.maximum}"
    if policy.minimum > policy.maximum_at_place * len(policy.places):
        yield "minimum", "there is not that much room at its places"


def _wrong_places(policy: Policy, namespace: str) -> Iterator[tuple[str, str]]:
    what, form, path = ("site", _SITE, "site") if policy.cluster else ("cluster", _CLUSTER, "site/cluster")
    for n, place in enumerate(policy.places):
        series = _SERIES.fullmatch(place) is not None and not policy.cluster
        if not (series or form.fullmatch(place)) or not place.startswith(f"/{namespace}/"):
            yield f"places.{n}", f"{place!r} is no {what} of this namespace: say it as /{namespace}/{path}"
        elif place in policy.places[:n]:
            yield f"places.{n}", f"{place} is there twice"
        elif series and policy.demand is PolicyInput.PLACE:
            yield f"places.{n}", f"{place} is several clusters, and with figures for each place each is named"


def is_series(place: str) -> bool:
    """Whether a place stands for clusters that are called the same, with a number behind it."""
    return place.endswith("-*")


def spelled_out(policy: Policy, clusters: Iterable[str]) -> Policy:
    """A policy whose series of clusters are the ones that there are; a series without any stays, and has no room."""
    there = sorted(clusters, key=lambda path: (len(path), path))
    places: dict[str, None] = {}
    for place in policy.places:
        found = [path for path in there if is_series(place) and _in_series(place, path)]
        places |= dict.fromkeys(found or [place])
    return msgspec.structs.replace(policy, places=tuple(places))


def _in_series(series: str, path: str) -> bool:
    rest = path.removeprefix(series.removesuffix("*"))
    return rest != path and rest.isdecimal()


class How(StrEnum):
    """How an instance stands, as far as a policy looks at it."""

    READY = "ready"
    BUSY = "busy"
    """It is there, and something is being done to it."""
    COMING = "coming"
    GOING = "going"
    BAD = "bad"
    """It is on record and serves nobody."""


_HOW = {
    "Ready": How.READY,
    "UpdateRequested": How.BUSY,
    "Updating": How.BUSY,
    "CreateRequested": How.COMING,
    "Creating": How.COMING,
    "DeletePrepare": How.GOING,
    "DeleteRequested": How.GOING,
    "Deleting": How.GOING,
}


def how(state: str, busy: bool = False) -> How | None:
    """How an instance in a state stands; None where there is none."""
    if state == APPINST.initial.name:
        return None
    found = _HOW.get(state, How.BAD)
    return How.BUSY if found is How.READY and busy else found


def principal(namespace: str, name: str) -> str:
    """As whom a policy acts."""
    return f"{PRINCIPAL}:{namespace}/{name}"


def spec_of(policy: Policy, maker: str) -> dict[str, Any]:
    """What an instance is to be, with the label that says who made it."""
    labels = policy.spec.get("labels")
    return {**policy.spec, "labels": {**(labels if isinstance(labels, Mapping) else {}), MADE_BY: maker}}


def made_by(spec: Mapping[str, Any]) -> str:
    """Who made an instance, if it was a policy."""
    labels = spec.get("labels")
    return str(labels.get(MADE_BY, "")) if isinstance(labels, Mapping) else ""


def is_instance(policy: Policy, name: str) -> bool:
    """Whether something is called as its instances are."""
    rest = name.removeprefix(f"{policy.name}-")
    return name == policy.name or (rest != name and rest.isdecimal())
