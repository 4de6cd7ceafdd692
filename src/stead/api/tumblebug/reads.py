"""Look at MCIs, subgroups and VMs in the dialect."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from stead.api.problems import ProblemResponse
from stead.api.routing import QueriesDep, router
from stead.api.tumblebug.models import (
    IdList,
    MciInfo,
    MciInfoList,
    MciList,
    MciStatus,
    SubGroupMembers,
    VmInfo,
    VmStatus,
)
from stead.api.tumblebug.names import Id, MciPath, NamedVm, SubgroupPath, find_vm
from stead.api.tumblebug.presentation import info, status, subgroup, subgroups, vm_info, vm_status, vms
from stead.application.group_status import GroupStatus, GroupView
from stead.application.queries import Queries

MCI, SUBGROUP = "mci", "subgroup"

MAX_VMS = 100_000
Option = Annotated[
    Literal["default", "status", "id"],
    Query(description="How it stands, or ids alone. By default: all that it consists of."),
]
VmOption = Annotated[
    Literal["default", "status"], Query(description="How it stands. By default: also what it was made from.")
]
Limit = Annotated[int, Query(ge=0, le=MAX_VMS, description="At most so many VMs; 0 leaves them out.")]


routes = router("tumblebug", "/tumblebug/ns/{nsId}")


@routes.get("/mci")
async def tumblebug_list_mci(
    queries: QueriesDep,
    nsId: Id,  # noqa: N803 - the dialect's name
    option: Option = "default",
    limit: Annotated[int, Query(ge=1, le=1000, description="At most so many MCIs.")] = 1000,
) -> MciList | MciInfoList | IdList:
    """The MCIs of a namespace, in order of name."""
    page = await queries.resources("mci", f"/{nsId}", "", limit)
    names = [resource.path for resource in page.items if resource.state_class != "absent"]
    if option == "id":
        return IdList(output=[path.rpartition("/")[2] for path in names])
    if option == "status":
        found = [group for path in names if (group := await queries.standing(path)) is not None]
        return MciList(mci=[status(group, ()) for group in found])
    views = [view for path in names if (view := await queries.picture(path, 0, SUBGROUP)) is not None]
    return MciInfoList(mci=[info(view) for view in views])


@routes.get("/mci/{mciId}")
async def tumblebug_read_mci(
    queries: QueriesDep,
    mci: MciPath,
    option: Option = "default",
    limit: Limit = 1000,
) -> MciStatus | MciInfo | IdList:
    """An MCI: how it stands, or all of it."""
    view = await group_view(queries, mci, limit, SUBGROUP if option == "default" else "")
    if option == "default":
        return info(view)
    found = vms(view)
    if option == "id":
        return IdList(output=[vm.id for vm in found])
    return status(view.standing, [vm_status(vm) for vm in found])


@routes.get("/mci/{mciId}/subgroup")
async def tumblebug_list_subgroups(queries: QueriesDep, mci: MciPath) -> IdList:
    """The names of the subgroups of an MCI."""
    view = await group_view(queries, mci, 0, SUBGROUP)
    return IdList(output=[group.id for group in subgroups(view)])


@routes.get("/mci/{mciId}/subgroup/{subgroupId}")
async def tumblebug_read_subgroup(
    queries: QueriesDep,
    path: SubgroupPath,
    limit: Limit = 1000,
) -> SubGroupMembers:
    """A subgroup, with the ids of its VMs."""
    view = await group_view(queries, path, limit, kind=SUBGROUP)
    group = view.standing
    shown = subgroup(group.resource, group.counts["countTotal"], group.summary)
    return SubGroupMembers(**shown.model_dump(), output=[vm.id for vm in vms(view)])


@routes.get("/mci/{mciId}/vm/{vmId}")
async def tumblebug_read_vm(
    queries: QueriesDep,
    named: NamedVm,
    option: VmOption = "default",
) -> VmInfo | VmStatus:
    """A VM: how it stands, or all of it."""
    vm = await find_vm(queries, named)
    if vm.state_class == "absent":
        raise ProblemResponse("not-found", f"there is no VM {named.id} in {named.mci}")
    found = await vm_info(queries, vm)
    return vm_status(found) if option == "status" else found


async def group_view(queries: Queries, path: str, limit: int, groups: str = "", *, kind: str = MCI) -> GroupView:
    """A group with what is in it, if it is there."""
    found = await queries.picture(path, limit, groups)
    if found is None or found.standing.resource.kind != kind or found.standing.resource.state_class == "absent":
        raise ProblemResponse("not-found", f"there is no {'MCI' if kind == MCI else kind} {path}")
    return found


async def group_status(queries: Queries, path: str, kind: str = MCI) -> GroupStatus:
    """How a group stands, if it is there."""
    return (await group_view(queries, path, 0, kind=kind)).standing
