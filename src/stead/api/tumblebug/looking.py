"""Look at MCIs, subgroups and VMs in the dialect."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from stead.api.identity import Who
from stead.api.problems import Trouble
from stead.api.routing import ServiceDep, router
from stead.api.tumblebug.models import (
    Ids,
    MciInfo,
    MciInfoList,
    MciList,
    MciStatus,
    SubGroupMembers,
    VmInfo,
    VmStatus,
)
from stead.api.tumblebug.shown import brief, described, info, status, subgroup, subgroups, vms
from stead.api.tumblebug.words import Id, VmId, vm_at
from stead.controller.view import Seen, Standing

MOST = 100_000
Option = Annotated[
    Literal["default", "status", "id"],
    Query(description="How it stands, or ids alone. By default: all that it consists of."),
]
VmOption = Annotated[
    Literal["default", "status"], Query(description="How it stands. By default: also what it was made from.")
]
Limit = Annotated[int, Query(ge=0, le=MOST, description="At most so many VMs; 0 leaves them out.")]


routes = router("tumblebug", "/tumblebug/ns/{nsId}")


@routes.get("/mci")
async def tumblebug_list_mci(
    service: ServiceDep,
    caller: Who,
    nsId: Id,  # noqa: N803 - the dialect's name
    option: Option = "default",
    limit: Annotated[int, Query(ge=1, le=1000, description="At most so many MCIs.")] = 1000,
) -> MciList | MciInfoList | Ids:
    """The MCIs of a namespace, in order of name."""
    seen = service.seen(caller)
    page = await seen.resources("mci", f"/{nsId}", "", limit)
    names = [resource.path for resource in page.items if resource.state_class != "absent"]
    if option == "id":
        return Ids(output=[path.rpartition("/")[2] for path in names])
    found = [standing for path in names if (standing := await seen.standing(path)) is not None]
    if option == "status":
        return MciList(mci=[status(standing, ()) for standing in found])
    return MciInfoList(mci=[await info(seen, standing, 0) for standing in found])


@routes.get("/mci/{mciId}")
async def tumblebug_read_mci(
    service: ServiceDep,
    caller: Who,
    nsId: Id,  # noqa: N803
    mciId: Id,  # noqa: N803
    option: Option = "default",
    limit: Limit = 1000,
) -> MciStatus | MciInfo | Ids:
    """An MCI: how it stands, or all of it."""
    seen = service.seen(caller)
    standing = await standing_of(seen, f"/{nsId}/{mciId}")
    if option == "default":
        return await info(seen, standing, limit)
    found = await vms(seen, f"/{nsId}/{mciId}", limit)
    if option == "id":
        return Ids(output=[vm.id for vm in found])
    return status(standing, [brief(vm) for vm in found])


@routes.get("/mci/{mciId}/subgroup")
async def tumblebug_list_subgroups(service: ServiceDep, caller: Who, nsId: Id, mciId: Id) -> Ids:  # noqa: N803
    """The names of the subgroups of an MCI."""
    seen = service.seen(caller)
    standing = await standing_of(seen, f"/{nsId}/{mciId}")
    return Ids(output=[group.id for group in await subgroups(seen, standing)])


@routes.get("/mci/{mciId}/subgroup/{subgroupId}")
async def tumblebug_read_subgroup(
    service: ServiceDep,
    caller: Who,
    nsId: Id,  # noqa: N803
    mciId: Id,  # noqa: N803
    subgroupId: Id,  # noqa: N803
    limit: Limit = 1000,
) -> SubGroupMembers:
    """A subgroup, with the ids of its VMs."""
    seen = service.seen(caller)
    standing = await standing_of(seen, f"/{nsId}/{mciId}/{subgroupId}", "subgroup")
    shown = subgroup(standing.resource, standing.counts["countTotal"], standing.text)
    found = await vms(seen, standing.resource.path, limit)
    return SubGroupMembers(**shown.model_dump(), output=[vm.id for vm in found])


@routes.get("/mci/{mciId}/vm/{vmId}")
async def tumblebug_read_vm(
    service: ServiceDep,
    caller: Who,
    nsId: Id,  # noqa: N803
    mciId: Id,  # noqa: N803
    vmId: VmId,  # noqa: N803
    option: VmOption = "default",
) -> VmInfo | VmStatus:
    """A VM: how it stands, or all of it."""
    seen = service.seen(caller)
    found = await described(seen, [await vm_at(seen, f"/{nsId}/{mciId}", vmId)])
    if not found:
        raise Trouble("not-found", f"there is no VM {vmId} in /{nsId}/{mciId}")
    return brief(found[0]) if option == "status" else found[0]


async def standing_of(seen: Seen, path: str, kind: str = "mci") -> Standing:
    """How a group stands, if it is there."""
    found = await seen.standing(path)
    if found is None or found.resource.kind != kind or found.resource.state_class == "absent":
        raise Trouble("not-found", f"there is no {'MCI' if kind == 'mci' else kind} {path}")
    return found
