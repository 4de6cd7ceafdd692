"""Whether the sites and the cell agree: besides what holds of any run, what holds of sites alone."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from stead.catalog import KINDS
from stead.drivers.sim import rules
from stead.lifecycle.rows import ABSENT, Trigger
from tests.chaos import checker, history
from tests.chaos.checker import Verdict
from tests.chaos.history import History, Instance
from tests.chaos.load import Asked
from tests.chaos.truth import was
from tests.edge.cell import EdgeCell

_SPECS = "SELECT path, kind, state, token::text, revision, spec FROM resources WHERE kind = ANY ($1::text[])"

SITE = "cloudlet"
ON_SITES = ("clusterinst", "appinst")


@dataclass(frozen=True)
class Believed:
    """What the cell says of something on a site."""

    path: str
    state: str
    token: str
    revision: int


@dataclass(frozen=True)
class Past:
    """What a run has left behind."""

    history: History
    believed: Sequence[Believed] = field(default_factory=list)


async def read(cell: EdgeCell, accepted: Sequence[Asked]) -> Past:
    """All of it, as it stands."""
    connection = await asyncpg.connect(cell.dsn, timeout=5)
    try:
        rows = await connection.fetch(_SPECS, list(ON_SITES))
    finally:
        await connection.close()
    said = [Believed(row["path"], row["state"], row["token"], row["revision"]) for row in rows]
    return Past(await history.read(cell.dsn, cell.cloud_urls, None, accepted), said)


def judge(past: Past) -> Verdict:
    """All that is wrong."""
    verdict = checker.judge(past.history)
    drift = [*verdict.drift, *specs(past), *sites(past)]
    wrong = [says for says in verdict.violations if says not in verdict.drift]
    return Verdict(verdict.lost, [*wrong, *homes(past), *glances(past), *in_order(past), *drift], drift)


def specs(past: Past) -> Iterator[str]:
    """What is ready has, at its site, the very spec that the cell believes it to have."""
    instances = {instance.token: instance for instance in past.history.instances}
    for one in past.believed:
        instance = instances.get(one.token)
        if one.state == "Ready" and instance is not None and instance.revision != one.revision:
            yield f"{one.path} is believed to be at revision {one.revision}, and is at {instance.revision}"


def sites(past: Past) -> Iterator[str]:
    """When all links are well, every site is ready."""
    for resource in past.history.resources:
        if resource.kind == SITE and resource.state != "Ready":
            yield f"{resource.path} is {resource.state}, and its agent is there"


def homes(past: Past) -> Iterator[str]:
    """No app was ever made in a cluster that was not there, nor outlived its cluster."""
    clusters: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for instance in past.history.instances:
        if instance.kind == "clusterinst":
            clusters[instance.path] += _lives(instance)
    for instance in past.history.instances:
        if instance.kind != "appinst":
            continue
        home = instance.path.rpartition("/")[0]
        for since, until in _lives(instance):
            if not any(begun <= since and until <= end for begun, end in clusters[home]):
                yield f"{instance.path} ({instance.id}) lived from {since:.3f} to {until:.3f}, its cluster did not"


def glances(past: Past) -> Iterator[str]:
    """What was seen to be gone was gone, and what was restored is there, at some time since somebody began to look.

    A look that nobody asked for was made after the last that is known of a thing, or its fence would be old. That
    something is broken may also mean that it has another spec than it should.
    """
    instances: defaultdict[str, list[Instance]] = defaultdict(list)
    for instance in past.history.instances:
        instances[instance.path].append(instance)
    begun = {op.id: op.created_at for op in past.history.ended}
    before: dict[str, float] = {}
    for line in past.history.journal:
        if line.rejections or line.kind not in ON_SITES:
            continue
        since = begun.get(line.operation, before.get(line.path, 0.0))
        before[line.path] = line.at
        seen = line.trigger == Trigger.OBSERVED and line.detail == ABSENT
        word = (
            ABSENT
            if seen
            else KINDS[line.kind].state(line.target).observed_as
            if line.trigger == Trigger.ROLLED_BACK
            else ""
        )
        if word and not was(instances[line.path], word, since, line.at):
            yield f"line {line.position} says {line.trigger} {line.detail} of {line.path}, and it was never {word}"


def in_order(past: Past) -> Iterator[str]:
    """What was ordered earlier is not done after what was ordered later."""
    for instance in past.history.instances:
        latest = 0
        for deed in instance.deeds:
            order = int(deed.order.rpartition(".")[2] or 0)
            if 0 < order < latest:
                yield f"{deed.verb} of {instance.path} by order {order} was done after that by order {latest}"
            latest = max(latest, order)


def _lives(instance: Instance) -> Iterator[tuple[float, float]]:
    """From when to when something was there."""
    since: float | None = None
    for deed in instance.deeds:
        there = deed.after != rules.TERMINATED
        if there and since is None:
            since = deed.at
        elif not there and since is not None:
            yield since, deed.at
            since = None
    if since is not None:
        yield since, float("inf")


def counts(past: Past) -> Mapping[str, Any]:
    """How much there is in the end, for the report."""
    living = [one for one in past.history.instances if one.state != rules.TERMINATED]
    believed = [one for one in past.believed if KINDS["appinst"].state(one.state).observed_as != ABSENT]
    return {
        "at the sites": len(living),
        "believed": len(believed),
        "lines of the journal": len(past.history.journal),
        "operations": len(past.history.ended),
        "deeds at the sites": sum(len(one.deeds) for one in past.history.instances),
    }


def told(past: Past) -> str:
    """The same, in words."""
    return json.dumps(counts(past))[1:-1].replace('"', "")
