"""Leases in the dialect: list, create, show, update and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Path, Response

from stead.api.blazar import dates, expressions
from stead.api.blazar.actions import book, complete
from stead.api.blazar.dates import invalid_field
from stead.api.blazar.models import (
    BlazarEventRequest,
    BlazarLeaseAnswer,
    BlazarLeaseChange,
    BlazarLeaseRequest,
    BlazarLeases,
    BlazarReservationChange,
)
from stead.api.blazar.presentation import lease_response
from stead.api.identity import Who
from stead.api.problems import ProblemResponse
from stead.api.request_ids import Key
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import ActionRequest
from stead.application.leases import Lease, Reservation
from stead.application.names import SEGMENT
from stead.application.queries import Queries

PAGE = 1000
SECOND = timedelta(seconds=1)
ABSENT = "ABSENT"

Ns = Annotated[str, Path(pattern=f"^{SEGMENT}$", max_length=100, description="The namespace of the leases.")]


routes = router("blazar", "/blazar/{ns}/v1")


@routes.get("/leases")
async def blazar_list_leases(queries: QueriesDep, ns: Ns) -> BlazarLeases:
    """All leases of a namespace, in order of name."""
    after, found = "", list[Lease]()
    while True:
        page = await queries.leases(f"/{ns}", after, PAGE)
        found += [lease for lease in page.items if lease.status != ABSENT]
        if page.next is None:
            return BlazarLeases(leases=[lease_response(lease) for lease in found])
        after = str(page.next)


@routes.post("/leases", status_code=201)
async def blazar_create_lease(
    application: ApplicationDep, caller: Who, ns: Ns, body: BlazarLeaseRequest, key: Key = ""
) -> BlazarLeaseAnswer:
    """Book hosts. It is answered when they are booked, or with 409, why, and when there is room next."""
    path = f"/{ns}/{body.name}"
    request = ActionRequest(path=path, action="create", kind="lease", spec=_lease_spec(body), key=key)
    return BlazarLeaseAnswer(lease=lease_response(await book(application, request, caller)))


@routes.get("/leases/{id}")
async def blazar_read_lease(queries: QueriesDep, ns: Ns, id: UUID) -> BlazarLeaseAnswer:
    """A lease, exactly as it is."""
    return BlazarLeaseAnswer(lease=lease_response(await _found(queries, ns, id)))


@routes.put("/leases/{id}")
async def blazar_update_lease(
    application: ApplicationDep,
    queries: QueriesDep,
    caller: Who,
    ns: Ns,
    id: UUID,
    body: BlazarLeaseChange,
    key: Key = "",
) -> BlazarLeaseAnswer:
    """Change a lease. It is answered when it is so, or with 409 and why, and it is as it was."""
    before = await queries.resource((await _found(queries, ns, id)).path)
    lease = await _found(queries, ns, id)
    spec = _changed(lease, body)
    derived = bool(spec.keys() & {"reservations", "before_end"})  # from what was read, so it holds for that alone
    tags = (before.etag,) if before is not None and derived else None
    request = ActionRequest(path=lease.path, action="update", kind="lease", spec=spec, key=key, tags=tags)
    return BlazarLeaseAnswer(lease=lease_response(await book(application, request, caller)))


@routes.delete(
    "/leases/{id}",
    status_code=204,
    response_model=None,
    responses={202: {"model": BlazarLeaseAnswer, "description": "It takes longer, and goes on"}},
)
async def blazar_delete_lease(
    application: ApplicationDep, queries: QueriesDep, caller: Who, ns: Ns, id: UUID, response: Response, key: Key = ""
) -> Response | BlazarLeaseAnswer:
    """Delete a lease, whatever goes on with it. Its hosts are taken back first, which is waited for a while."""
    lease = await _found(queries, ns, id)
    request = ActionRequest(path=lease.path, action="delete", kind="lease", key=key)
    left = None if await complete(application, request, caller) else await queries.lease_of(id)
    if left is None:
        return Response(status_code=204)
    response.status_code = 202
    return BlazarLeaseAnswer(lease=lease_response(left))


async def _found(queries: Queries, ns: str, id: UUID) -> Lease:
    """The lease of an id, if it lies in the namespace and is there for the caller."""
    lease = await queries.lease_of(id)
    if lease is None or not lease.path.startswith(f"/{ns}/"):
        raise ProblemResponse("not-found", f"there is no lease {id} in {ns}")
    return lease


def _lease_spec(body: BlazarLeaseRequest) -> dict[str, Any]:
    """What is asked for as a spec of ours."""
    reservations = []
    for place, one in enumerate(body.reservations):
        where = f"reservations.{place}"
        _range(where, one.min, one.max)
        wanted = _wanted(where, one.hypervisor_properties, one.resource_properties)
        reservations.append({"count": one.max, "min": one.min, "properties": wanted})
    spec: dict[str, Any] = {
        "start": dates.spec_time("start_date", body.start_date),
        "end": dates.spec_time("end_date", body.end_date),
        "reservations": reservations,
    }
    notice = _notice_time(body.before_end_date, body.events)
    if notice is not None:
        spec["before_end"] = _before(notice, None, dates.read("end_date", body.end_date))
    return spec


def _changed(lease: Lease, body: BlazarLeaseChange) -> dict[str, Any]:
    """What of a lease changes, as a spec of ours."""
    if body.name not in (None, lease.name):
        raise invalid_field("name", f"a lease keeps its name: this one is {lease.name}")
    spec: dict[str, Any] = {}
    if body.start_date is not None:
        spec["start"] = dates.spec_time("start_date", body.start_date)
    if body.end_date is not None:
        spec["end"] = dates.spec_time("end_date", body.end_date)
    notice = _notice_time(body.before_end_date, body.events)
    if notice is not None:
        end = dates.read("end_date", body.end_date) if body.end_date is not None else lease.end
        spec["before_end"] = _before(notice, lease.start if body.start_date is None else None, end)
    if body.reservations:
        spec["reservations"] = _changed_reservations(lease.reservations, body.reservations)
    return spec


def _changed_reservations(
    parts: Sequence[Reservation], changes: Sequence[BlazarReservationChange]
) -> list[dict[str, Any]]:
    """All reservations of a lease, those that change as they will be."""
    became: dict[str, dict[str, Any]] = {
        str(part.id): {
            "name": part.name,
            "count": part.count,
            "min": part.min,
            "properties": dict(part.properties),
        }
        for part in parts
    }
    for place, change in enumerate(changes):
        where = f"reservations.{place}"
        if change.id not in became:
            raise invalid_field(f"{where}.id", f"the lease has no reservation {change.id}")
        part = became[change.id]
        count = change.max if change.max is not None else part["count"]
        least = change.min if change.min is not None else min(part["min"], count)
        _range(where, least, count)
        part |= {"count": count, "min": least}
        if change.hypervisor_properties is not None or change.resource_properties is not None:
            part["properties"] = _wanted(where, change.hypervisor_properties, change.resource_properties)
    return list(became.values())


def _range(where: str, least: int, most: int) -> None:
    if least > most:
        raise invalid_field(f"{where}.min", f"{least} is more than max, which is {most}")


def _wanted(where: str, hypervisor: str | None, resource: str | None) -> dict[str, str]:
    given = ("hypervisor_properties", hypervisor or ""), ("resource_properties", resource or "")
    return expressions.properties(where, *given)


def _notice_time(date: str | None, events: Sequence[BlazarEventRequest] | None) -> datetime | None:
    """When the end is to be told: said by itself, or as an event."""
    given = [("before_end_date", date)] if date else []
    given += [(f"events.{place}.event_date", event.event_date) for place, event in enumerate(events or ())]
    if len(given) > 1:
        raise invalid_field(given[1][0], "the end is told once: say when in one place")
    return dates.read(*given[0]) if given else None


def _before(notice: datetime, start: datetime | None, end: datetime) -> int:
    """Seconds before its end at which that is told."""
    if not (start is None or start <= notice) or not notice < end:
        raise invalid_field("before_end_date", f"{dates.date(notice)} is not within the lease, before its end")
    return int((end - notice) / SECOND)
