"""Leases and hosts as the dialect shows them."""

from __future__ import annotations

from collections.abc import Iterable

from stead.api.blazar.dates import date, stamp
from stead.api.blazar.expressions import expression
from stead.api.blazar.models import (
    BlazarAllocatedReservation,
    BlazarAllocation,
    BlazarEvent,
    BlazarHost,
    BlazarLease,
    BlazarProperties,
    BlazarProperty,
    BlazarReservation,
)
from stead.application.leases import Calendar, Host, Lease

PHYSICAL = "physical:host"
HOST_FIELDS = ("hypervisor_type", "hypervisor_version", "vcpus", "cpu_info", "memory_mb", "local_gb")
"""Properties that the dialect has a field for, whether a host has them or not."""


def lease_response(lease: Lease) -> BlazarLease:
    """A lease with its reservations and events."""
    id = str(lease.id)
    when = {"created_at": stamp(lease.created_at), "updated_at": stamp(lease.changed_at)}
    return BlazarLease(
        id=id,
        name=lease.name,
        user_id="",
        project_id=lease.path.split("/")[1],
        trust_id="",
        start_date=date(lease.start),
        end_date=date(lease.end),
        status=lease.status,
        degraded=lease.degraded,
        reservations=[
            BlazarReservation(
                id=str(part.id),
                lease_id=id,
                resource_id=str(part.id),
                resource_type=PHYSICAL,
                status=part.status,
                min=part.min,
                max=part.count,
                hypervisor_properties="",
                resource_properties=expression(part.properties),
                before_end="default",
                missing_resources=part.missing_resources,
                resources_changed=part.resources_changed,
                hosts=list(part.hosts),
                created_at=when["created_at"],
                updated_at=None,
            )
            for part in lease.reservations
        ],
        events=[
            BlazarEvent(
                id=str(event.id),
                lease_id=id,
                event_type=event.kind,
                time=date(event.at),
                status=event.status,
                created_at=when["created_at"],
                updated_at=stamp(event.fired_at),
            )
            for event in lease.events
        ],
        **when,
    )


def host_response(host: Host) -> BlazarHost:
    """A host, with its properties beside what every host has."""
    fixed = {
        "id": host.name,
        "hypervisor_hostname": host.name,
        "service_name": host.name,
        "reservable": host.healthy,
        "status": host.reason or None,
        "trust_id": "",
        "created_at": stamp(host.added_at),
        "updated_at": None,
        "lane": host.lane,
    }
    return BlazarHost.model_validate({**dict.fromkeys(HOST_FIELDS), **host.properties, **fixed})


def allocation_responses(calendar: Calendar) -> list[BlazarAllocation]:
    """Each host with the reservations that have it, as far as their leases are for the caller to see."""
    return [
        BlazarAllocation(
            resource_id=host.name,
            reservations=[
                BlazarAllocatedReservation(
                    id=str(booked.reservation_id),
                    lease_id=str(booked.lease_id),
                    start_date=date(booked.start),
                    end_date=date(booked.end),
                )
                for booked in calendar.booked
                if booked.host == host.name and booked.lease
            ],
        )
        for host in calendar.hosts
    ]


def properties_response(hosts: Iterable[Host], detail: bool) -> BlazarProperties:
    """What hosts have, in order of name; with detail, also what there is of it."""
    found: dict[str, set[str]] = {}
    for host in hosts:
        for name, value in host.properties.items():
            found.setdefault(name, set()).add(str(value))
    return BlazarProperties(
        resource_properties=[
            BlazarProperty(property=name, private=False, values=sorted(found[name]))
            if detail
            else BlazarProperty(property=name)
            for name in sorted(found)
        ]
    )
