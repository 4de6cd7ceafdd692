"""Hosts in the dialect. They are the cell's, and so the same in all namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Path as InPath
from fastapi import Query

from stead.access.policies import HOSTS
from stead.api.blazar.dates import invalid_field
from stead.api.blazar.expressions import BOOLEANS, NUMBER
from stead.api.blazar.leases import Ns
from stead.api.blazar.models import (
    BlazarAllocation,
    BlazarAllocationAnswer,
    BlazarAllocations,
    BlazarHost,
    BlazarHostAnswer,
    BlazarHostRequest,
    BlazarHosts,
    BlazarProperties,
    HostChange,
)
from stead.api.blazar.presentation import HOST_FIELDS, allocation_responses, host_response, properties_response
from stead.api.identity import Who
from stead.api.problems import ProblemResponse, problem_response
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import NotFound
from stead.application.cell_commands import CellCommands
from stead.application.commands import Application
from stead.application.leases import Host
from stead.application.models import InvalidRequest
from stead.application.names import SEGMENT
from stead.application.queries import Queries
from stead.application.storable import storable

PAGE = 1000
READ_ONLY_FIELDS = frozenset(BlazarHost.model_fields) - set(HOST_FIELDS)
"""What the server says of a host, and nobody else."""

HostId = Annotated[str, InPath(pattern=f"^{SEGMENT}$", max_length=100, description="The name of the host.")]


routes = router("blazar", "/blazar/{ns}/v1")


@routes.get("/os-hosts")
async def blazar_list_hosts(queries: QueriesDep, ns: Ns) -> BlazarHosts:
    """All hosts, in order of name."""
    del ns
    return BlazarHosts(hosts=[host_response(host) for host in await _all(queries)])


@routes.get("/os-hosts/properties", response_model_exclude_none=True)
async def blazar_list_properties(
    queries: QueriesDep,
    ns: Ns,
    detail: Annotated[bool, Query(description="Also the values there are.")] = False,
    all: Annotated[bool, Query(description="Also private ones: there are none.")] = False,
) -> BlazarProperties:
    """What hosts have, and leases can ask for."""
    del ns, all
    return properties_response(await _all(queries), detail)


@routes.get("/os-hosts/allocations")
async def blazar_list_allocations(queries: QueriesDep, ns: Ns) -> BlazarAllocations:
    """Which reservations have each host, from now on."""
    del ns
    found = list[BlazarAllocation]()
    while page := await _allocations(queries, found[-1].resource_id if found else ""):
        found += page
    return BlazarAllocations(allocations=found)


async def _allocations(queries: Queries, after: str, limit: int = PAGE) -> list[BlazarAllocation]:
    now = queries.application.now()
    return allocation_responses(await queries.calendar(now, datetime.max.replace(tzinfo=UTC), after, limit))


@routes.get("/os-hosts/{id}/allocation")
async def blazar_read_allocation(
    application: ApplicationDep, queries: QueriesDep, ns: Ns, id: HostId
) -> BlazarAllocationAnswer:
    """Which reservations have a host, from now on."""
    del ns
    await _found(queries, id)
    now = application.now()
    calendar = await queries.calendar(now, datetime.max.replace(tzinfo=UTC), "", 1, id)
    return BlazarAllocationAnswer(allocation=allocation_responses(calendar)[0])


@routes.get("/os-hosts/{id}")
async def blazar_read_host(queries: QueriesDep, ns: Ns, id: HostId) -> BlazarHostAnswer:
    """A host."""
    del ns
    return BlazarHostAnswer(host=host_response(await _found(queries, id)))


@routes.post("/os-hosts", status_code=201)
async def blazar_create_host(
    application: ApplicationDep, queries: QueriesDep, caller: Who, ns: Ns, body: BlazarHostRequest
) -> BlazarHostAnswer:
    """Have a host booked from now on. Numbers and truths may come as texts, as clients send them."""
    del ns
    properties = _properties(body.model_extra or {})
    if await queries.host(body.name) is not None:
        raise invalid_field("name", f"there is a host {body.name}: update it")
    return await _put(application, caller, body.name, body.lane, properties, None)


@routes.put("/os-hosts/{id}")
async def blazar_update_host(
    application: ApplicationDep, queries: QueriesDep, caller: Who, ns: Ns, id: HostId, body: HostChange
) -> BlazarHostAnswer:
    """Say anew some of what a host has."""
    del ns
    host = await _found(queries, id)
    properties = {**host.properties, **_properties(body)}
    return await _put(application, caller, host.name, host.lane, properties, host.node)


@routes.delete("/os-hosts/{id}", status_code=204)
async def blazar_delete_host(application: ApplicationDep, caller: Who, ns: Ns, id: HostId) -> None:
    """Forget a host that no lease has or had."""
    del ns
    found = await CellCommands(application).remove_host(id, application.authorization.require(caller, HOSTS))
    if found is not None:
        raise problem_response(found)


async def _all(queries: Queries) -> list[Host]:
    page = await queries.hosts("", PAGE)
    found = [*page.items]
    while page.next is not None:
        page = await queries.hosts(str(page.next), PAGE)
        found += page.items
    return found


async def _found(queries: Queries, name: str) -> Host:
    host = await queries.host(name)
    if host is None:
        raise ProblemResponse("not-found", f"there is no host {name}")
    return host


async def _put(
    application: Application, caller: Who, name: str, lane: str, properties: Mapping[str, Any], node: str | None
) -> BlazarHostAnswer:
    authorized = application.authorization.require(caller, HOSTS)
    host = await CellCommands(application).put_host(name, lane, properties, node, authorized)
    if isinstance(host, InvalidRequest | NotFound):
        raise problem_response(host)
    return BlazarHostAnswer(host=host_response(host))


def _properties(given: Mapping[str, Any]) -> dict[str, Any]:
    """Properties as they are compared: a text that is a number is one, and so is a truth."""
    taken = sorted(READ_ONLY_FIELDS & set(given))
    if taken:
        raise invalid_field(taken[0], "the server says that")
    try:
        storable(dict(given))
    except ValueError as error:
        raise invalid_field("body", str(error)) from None
    return {name: _value(value) for name, value in given.items()}


def _value(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value in BOOLEANS:
        return value == "True"
    number = (float(value) if "." in value else int(value)) if NUMBER.fullmatch(value) else value
    return number if str(number) == value else value
