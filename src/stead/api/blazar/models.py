"""What goes over the wire of the dialect. The names are its own, and stay as they are there."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from stead.application import MAX_HOSTS, MAX_RESERVATIONS
from stead.application.names import Name
from stead.application.storable import storable

Date = Annotated[str, StringConstraints(max_length=40), Field(examples=["2030-01-31 12:00"])]
Text = Annotated[str, StringConstraints(max_length=10_000)]
Count = Annotated[int, Field(ge=1, le=MAX_HOSTS)]


class BlazarAnswer(BaseModel):
    """Anything that is answered."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class BlazarRequest(BaseModel):
    """Anything that is asked for. What is not known here is refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class BlazarReservation(BlazarAnswer):
    """Hosts of a lease that are alike."""

    id: str
    lease_id: str
    resource_id: str
    """The same as `id`."""
    resource_type: str
    """`physical:host`."""
    status: str
    """`pending`, `active`, `deleted` or `error`."""
    min: int
    """How many hosts are enough."""
    max: int
    """How many hosts are booked, where there are so many."""
    hypervisor_properties: str
    """Empty: all that was asked for is in `resource_properties`."""
    resource_properties: str
    """What each of them was to have: an expression, or nothing."""
    before_end: str
    """`default`."""
    missing_resources: bool
    """A host of them failed, and no other was found yet."""
    resources_changed: bool
    """Another host took the place of one that failed."""
    hosts: list[str]
    """Which they are; it is not in Blazar's own answers."""
    created_at: str | None
    updated_at: str | None


class BlazarEvent(BlazarAnswer):
    """When something happens to a lease."""

    id: str
    lease_id: str
    event_type: str
    """`start_lease`, `before_end_lease` or `end_lease`."""
    time: str
    status: str
    """`UNDONE`, `IN_PROGRESS`, `DONE` or `ERROR`."""
    created_at: str | None
    updated_at: str | None


class BlazarLease(BlazarAnswer):
    """Hosts booked from one time to another."""

    id: str
    name: str
    user_id: str
    """Empty: a lease is its namespace's."""
    project_id: str
    """Its namespace."""
    trust_id: str
    """Empty: trusts are not supported."""
    start_date: str
    end_date: str
    status: str
    """Exactly as it is: `CREATING`, `PENDING`, `STARTING`, `ACTIVE`, `UPDATING`, `TERMINATING`, `TERMINATED`, `ERROR`
    or `DELETING`."""
    degraded: bool
    """Something of it is not as it was booked."""
    created_at: str | None
    updated_at: str | None
    reservations: list[BlazarReservation]
    events: list[BlazarEvent]


class BlazarLeaseAnswer(BlazarAnswer):
    """A lease."""

    lease: BlazarLease


class BlazarLeases(BlazarAnswer):
    """All leases of a namespace that the caller may see."""

    leases: list[BlazarLease]


class BlazarEventRequest(BlazarRequest):
    """A moment that is asked for: there is one, some time before the end."""

    event_type: Literal["before_end_lease"]
    event_date: Date


class BlazarReservationRequest(BlazarRequest):
    """Hosts that are asked for."""

    resource_type: Literal["physical:host"]
    min: Count
    """At most `max`. As many as `max` are booked where they are free, and fewer where at least so many are."""
    max: Count
    hypervisor_properties: Text | None = None
    resource_properties: Text | None = None
    before_end: Literal["default", ""] | None = None


class BlazarReservationChange(BlazarRequest):
    """What a reservation of a lease is to become."""

    id: str
    resource_type: Literal["physical:host"] | None = None
    min: Count | None = None
    max: Count | None = None
    hypervisor_properties: Text | None = None
    resource_properties: Text | None = None
    """With either of them, what the hosts are to have is said anew."""
    before_end: Literal["default", ""] | None = None


class BlazarLeaseRequest(BlazarRequest):
    """A lease that is asked for."""

    name: Name
    start_date: Date = "now"
    end_date: Date
    before_end_date: Date | None = None
    """When its end is to be told; an hour before it, unless said."""
    reservations: Annotated[list[BlazarReservationRequest], Field(min_length=1, max_length=MAX_RESERVATIONS)]
    events: list[BlazarEventRequest] | None = None


class BlazarLeaseChange(BlazarRequest):
    """What a lease is to become. What is left out stays as it is."""

    name: Name | None = None
    """The one it has: it keeps that."""
    start_date: Date | None = None
    end_date: Date | None = None
    before_end_date: Date | None = None
    reservations: Annotated[list[BlazarReservationChange], Field(max_length=MAX_RESERVATIONS)] | None = None
    events: list[BlazarEventRequest] | None = None


class BlazarHost(BlazarAnswer):
    """A machine that can be booked; what else it has stands beside these, by name."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    id: str
    """Its name."""
    hypervisor_hostname: str
    service_name: str
    hypervisor_type: Any
    hypervisor_version: Any
    vcpus: Any
    cpu_info: Any
    memory_mb: Any
    local_gb: Any
    reservable: bool
    """It works, and is booked."""
    status: str | None
    """Why it does not work."""
    trust_id: str
    created_at: str | None
    updated_at: str | None
    lane: str
    """Whose agent hands it over."""


class BlazarHostAnswer(BlazarAnswer):
    """A host."""

    host: BlazarHost


class BlazarHosts(BlazarAnswer):
    """All hosts."""

    hosts: list[BlazarHost]


class BlazarAllocatedReservation(BlazarAnswer):
    """A reservation that has a host."""

    id: str
    lease_id: str
    start_date: str
    end_date: str


class BlazarAllocation(BlazarAnswer):
    """The reservations that have a host now, or will have it."""

    resource_id: str
    """The name of the host."""
    reservations: list[BlazarAllocatedReservation]


class BlazarAllocationAnswer(BlazarAnswer):
    """The allocation of one host."""

    allocation: BlazarAllocation


class BlazarAllocations(BlazarAnswer):
    """The allocations of all hosts."""

    allocations: list[BlazarAllocation]


class BlazarHostRequest(BaseModel):
    """A host that can be booked from now on: its name, its lane, and its properties by name."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    name: Name
    lane: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    """Whose agent hands it over."""


HostChange = Annotated[dict[str, Any], AfterValidator(storable)]
"""What a host has, by name. What is left out stays."""


class BlazarProperty(BlazarAnswer):
    """Something that hosts have."""

    property: str
    private: bool | None = None
    """With `detail`; never."""
    values: list[str] | None = None
    """With `detail`: what there is of it."""


class BlazarProperties(BlazarAnswer):
    """What hosts have."""

    resource_properties: list[BlazarProperty]
