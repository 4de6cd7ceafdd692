"""What a run leaves behind: the journal, the tables of the engine, and the ledger of the cloud.

The checker sees this and nothing else, besides the requests that were let in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid5

import asyncpg
import httpx

from stead.drivers.ec2.wire import LAUNCH_TAG, TOKEN_TAG
from tests.chaos.cell import EC2, calls
from tests.chaos.load import Asked
from tests.drivers.ec2 import Ec2Cloud


@dataclass(frozen=True)
class Line:
    """A line of the journal."""

    position: int | None
    path: str
    source: str
    target: str
    trigger: str
    detail: str
    actor: str
    operation: str = ""
    at: float = 0.0
    rejections: int = 0
    kind: str = "vm"


@dataclass(frozen=True)
class Ended:
    """An operation that has ended."""

    id: str
    path: str
    action: str
    outcome: str
    created_at: float
    ended_at: float
    principal: str = "anonymous"
    forced: bool = False
    kind: str = "vm"
    partial: str = ""
    """What was to be done about members of a new group that failed."""
    disk: str = ""
    """The disk that a machine was to get or to lose."""
    under: str = ""
    """The operation that began it, where no request did."""


@dataclass(frozen=True)
class Resource:
    """What is believed of a resource."""

    path: str
    state: str
    token: str
    lane: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    busy: Mapping[str, Any] = field(default_factory=dict)
    """Operation, order, timers and condition, where there are any."""
    kind: str = "vm"


@dataclass(frozen=True)
class Deed:
    """Something that happened to an instance."""

    at: float
    verb: str
    after: str
    order: str = ""


@dataclass(frozen=True)
class Instance:
    """What the cloud has, or had."""

    id: str
    token: str
    path: str
    lane: str
    state: str
    deeds: Sequence[Deed] = ()
    kind: str = "vm"
    revision: int = 0
    """Of the spec that it has."""


@dataclass(frozen=True, kw_only=True)
class History:
    """All of it."""

    accepted: Sequence[Asked] = ()
    journal: Sequence[Line] = ()
    ended: Sequence[Ended] = ()
    running: Sequence[Mapping[str, Any]] = ()
    claims: Sequence[Mapping[str, Any]] = ()
    orders: Sequence[Mapping[str, Any]] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    """By key, the operation that it began."""
    resources: Sequence[Resource] = ()
    instances: Sequence[Instance] = ()
    strict: Sequence[Instance] = ()
    """What the strict EC2 has, of which nobody knows what happened to it."""
    nodes: Sequence[Instance] = ()
    """What the nodes of the datacenter have; the lane is the node."""
    twice: Sequence[Mapping[str, Any]] = ()
    """What an order did to an instance more than once, in the words of the ledger."""
    members: Sequence[Mapping[str, Any]] = ()
    """Of operations on groups, the members that did not do it or were not asked."""
    expansions: Sequence[Mapping[str, Any]] = ()
    """Operations on groups whose members have not all been asked."""
    limits: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    """By provider, how many members a region bears at once, and how many regions."""


_JOURNAL = """SELECT position, path, source, target, trigger, detail, actor,
    coalesce(operation::text, '') AS operation, extract(epoch FROM at)::float8 AS at, rejections, kind
    FROM journal ORDER BY position NULLS LAST, id"""
_ENDED = """SELECT id::text, path, action, outcome, extract(epoch FROM created_at)::float8 AS created_at,
    extract(epoch FROM ended_at)::float8 AS ended_at, principal,
    coalesce((request ->> 'force')::boolean, false) AS forced, kind,
    coalesce(request ->> 'on_partial', '') AS partial, coalesce(request #>> '{spec,disk}', '') AS disk,
    coalesce(request #>> '{under,0}', '') AS under FROM ended_operations ORDER BY created_at"""
_RUNNING = """SELECT id::text, kind, path, action, coalesce((request ->> 'force')::boolean, false) AS forced,
    total, remaining, failed, expanded, created_at::text FROM operations ORDER BY created_at"""
_CLAIMS = "SELECT path, mode::text, operation::text, used_by FROM claims"
_ORDERS = "SELECT id, lane, verb, members, attempt, agent, operation::text, created_at::text FROM orders"
_KEYS = "SELECT key, operation::text FROM idempotency_keys"
_MEMBERS = "SELECT operation::text, path, outcome, says FROM operation_members ORDER BY operation, path"
_EXPANSIONS = "SELECT operation::text, path, after FROM expansions"
_LIMITS = "SELECT name, members, regions FROM providers"
_RESOURCES = """SELECT path, kind, state, token::text, lane, facts, condition, operation::text, hidden::text,
    order_id, timers FROM resources ORDER BY path"""
_UNSETTLED = """SELECT (SELECT count(*) FROM operations) + (SELECT count(*) FROM claims WHERE used_by = '')
    + (SELECT count(*) FROM orders) + (SELECT count(*) FROM journal WHERE position IS NULL)"""


async def unsettled(dsn: str) -> int:
    """How much is still under way."""
    connection = await asyncpg.connect(dsn, timeout=5)
    try:
        count: int = await connection.fetchval(_UNSETTLED)
        return count
    finally:
        await connection.close()


async def ended(dsn: str) -> int:
    """How many operations have ended."""
    connection = await asyncpg.connect(dsn, timeout=5)
    try:
        count: int = await connection.fetchval("SELECT count(*) FROM ended_operations")
        return count
    finally:
        await connection.close()


async def look_soon(dsn: str, lane: str) -> None:
    """Have everything that is at rest on a lane looked at now, and not only when its time comes."""
    connection = await asyncpg.connect(dsn, timeout=5)
    try:
        soon = "UPDATE resources SET observe_at = now() WHERE lane = $1 AND observe_at IS NOT NULL"
        await connection.execute(soon, lane)
    finally:
        await connection.close()


async def read(dsn: str, clouds: Sequence[str], strict: Ec2Cloud | None, accepted: Sequence[Asked]) -> History:
    """The history of a run, as it stands."""
    connection = await asyncpg.connect(dsn, timeout=5)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):

            async def rows(query: str) -> list[dict[str, Any]]:
                return [dict(record) for record in await connection.fetch(query)]

            believed = History(
                accepted=list(accepted),
                journal=[Line(**row) for row in await rows(_JOURNAL)],
                ended=[Ended(**row) for row in await rows(_ENDED)],
                running=await rows(_RUNNING),
                claims=await rows(_CLAIMS),
                orders=await rows(_ORDERS),
                keys={row["key"]: row["operation"] for row in await rows(_KEYS)},
                resources=[_resource(row) for row in await rows(_RESOURCES)],
                members=await rows(_MEMBERS),
                expansions=await rows(_EXPANSIONS),
                limits={row["name"]: (row["members"], row["regions"]) for row in await rows(_LIMITS)},
            )
    finally:
        await connection.close()
    ledgers = await asyncio.gather(*(ledger(cloud) for cloud in clouds))
    instances = [instance for some, _ in ledgers for instance in some]
    twice = [deed for _, deeds in ledgers for deed in deeds]
    return replace(believed, instances=instances, twice=twice, strict=await _strict(strict) if strict else ())


def _resource(row: Mapping[str, Any]) -> Resource:
    condition, timers = json.loads(row["condition"]), json.loads(row["timers"])
    parts = {"operation": row["operation"], "hidden": row["hidden"], "order": row["order_id"], "timers": timers}
    busy = {name: value for name, value in parts.items() if value}
    if busy:
        busy["condition"] = condition
    return Resource(row["path"], row["state"], row["token"], row["lane"], json.loads(row["facts"]), busy, row["kind"])


async def ledger(cloud: str) -> tuple[list[Instance], list[Mapping[str, Any]]]:
    instances: list[Instance] = []
    async with httpx.AsyncClient(base_url=cloud, trust_env=False, verify=False, timeout=60) as client:
        after = "0"
        while after:
            page = (await client.get("/v1/_ledger/instances", params={"after": after})).raise_for_status().json()
            instances += map(_instance, page["instances"])
            after = page.get("next", "")
        summary = (await client.get("/v1/_ledger")).raise_for_status().json()
    return instances, summary["twice"]["deeds"]


def _instance(said: Mapping[str, Any]) -> Instance:
    deeds = [Deed(line["at"], line["verb"], line["after"], line["order"]) for line in said["history"]]
    lane = f"{said['provider']}.{said['region']}"
    path = said["tags"].get("path", "")
    return Instance(said["id"], said["token"], path, lane, said["state"], deeds, said["kind"], said["revision"])


async def _strict(strict: Ec2Cloud) -> list[Instance]:
    """All that the strict EC2 has ever made and still shows, each with the token that its member has."""
    ways = calls(strict)
    pages = await ways.list(None, dict[str, Any], "describe_instances", "Reservations")
    ways.close()
    found = []
    for one in (instance for page in pages for instance in page["Instances"]):
        tags = {tag["Key"]: tag["Value"] for tag in one.get("Tags", [])}
        launch = tags.get(LAUNCH_TAG, "")
        token = str(uuid5(UUID(launch), str(one["AmiLaunchIndex"]))) if launch else tags.get(TOKEN_TAG, "")
        found.append(Instance(one["InstanceId"], token, "", ".".join(EC2), one["State"]["Name"]))
    return found
