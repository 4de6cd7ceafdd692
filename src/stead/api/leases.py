"""Leases, hosts and the calendar. What is asked of a lease is asked as of any resource, at its path."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import Query
from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from stead.access.policies import HOSTS
from stead.api.identity import Who
from stead.api.models import AskedTime
from stead.api.problems import FieldError, ProblemResponse, problem_response
from stead.api.request_ids import Cursor, Limit, from_cursor
from stead.api.resources import Where
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import NotFound
from stead.application.cell_commands import CellCommands
from stead.application.leases import Calendar, Host, Lateness, Lease
from stead.application.models import InvalidRequest, Page
from stead.application.names import Below, Name, Path
from stead.application.storable import storable

DAY = timedelta(days=1)
LONGEST = timedelta(days=366)
LaneName = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class HostRequest(BaseModel):
    """What is said of a host."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class HostChange(HostRequest):
    """What a host is."""

    lane: LaneName
    properties: Annotated[dict[str, Any], AfterValidator(storable)] = {}
    """Texts, numbers and truths by name, which leases may ask for."""
    node: Path | None = None
    """The node of the private cloud that it is: it works while that is enabled."""


class HostVerdict(HostRequest):
    """Whether a host works."""

    healthy: bool
    reason: Annotated[str, StringConstraints(max_length=500), AfterValidator(storable)] = ""


routes = router("leases")


@routes.get("/v1/leases")
async def list_leases(
    queries: QueriesDep, below: Below = "/", cursor: Cursor = None, limit: Limit = 100
) -> Page[Lease]:
    """Leases in order of path."""
    return await queries.leases(below, from_cursor(cursor, str) or "", limit)


@routes.get("/v1/leases/{path:path}")
async def read_lease(queries: QueriesDep, path: Where) -> Lease:
    """A lease with its reservations, events and notices."""
    found = await queries.lease(f"/{path}")
    if found is None:
        raise ProblemResponse("not-found", f"there is no lease /{path}")
    return found


@routes.get("/v1/lateness")
async def read_lateness(queries: QueriesDep, hours: Annotated[int, Query(ge=1, le=24 * 366)] = 24) -> Lateness:
    """How late the moments of leases came, in the last hours."""
    return await queries.lateness(hours * 3600)


@routes.get("/v1/cells/{cell}/hosts")
async def list_hosts(queries: QueriesDep, cursor: Cursor = None, limit: Limit = 100) -> Page[Host]:
    """Hosts that can be booked, in order of name."""
    return await queries.hosts(from_cursor(cursor, str) or "", limit)


@routes.put("/v1/cells/{cell}/hosts/{name}")
async def put_host(application: ApplicationDep, caller: Who, name: Name, change: HostChange) -> Host:
    """Have a host booked from now on, or say anew what it has."""
    authorized = application.authorization.require(caller, HOSTS)
    found = await CellCommands(application).put_host(name, change.lane, change.properties, change.node, authorized)
    if isinstance(found, InvalidRequest | NotFound):
        raise problem_response(found)
    return found


@routes.put("/v1/cells/{cell}/hosts/{name}/works")
async def set_host_health(application: ApplicationDep, caller: Who, name: Name, verdict: HostVerdict) -> Host:
    """Say that a host failed, or works again. Leases that have it get another, if one is free."""
    authorized = application.authorization.require(caller, HOSTS)
    found = await CellCommands(application).set_host_health(name, verdict.healthy, verdict.reason, authorized)
    if isinstance(found, NotFound):
        raise problem_response(found)
    return found


@routes.delete("/v1/cells/{cell}/hosts/{name}", status_code=204)
async def remove_host(application: ApplicationDep, caller: Who, name: Name) -> None:
    """Forget a host that no lease has or had."""
    authorized = application.authorization.require(caller, HOSTS)
    found = await CellCommands(application).remove_host(name, authorized)
    if found is not None:
        raise problem_response(found)


@routes.get("/v1/calendar")
async def read_calendar(
    application: ApplicationDep,
    queries: QueriesDep,
    start: AskedTime | None = None,
    end: AskedTime | None = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Calendar:
    """Who has which host between two times: a day from now on, unless said otherwise."""
    start = start or application.now()
    last = datetime.max.replace(tzinfo=UTC)
    end = end or start + min(DAY, last - start)
    if not start < end <= start + min(LONGEST, last - start):
        says = "it has to be after the start, by at most 366 days"
        raise ProblemResponse("invalid", f"end: {says}", errors=[FieldError(location="end", message=says)])
    return await queries.calendar(start, end, from_cursor(cursor, str) or "", limit)
