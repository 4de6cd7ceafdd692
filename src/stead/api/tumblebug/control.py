"""Control of MCIs and VMs at the dialect's own addresses for it, and namespaces."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request, Response

from stead.api.identity import COOKIE, Who
from stead.api.problems import ProblemResponse
from stead.api.request_ids import Key
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.api.tumblebug.actions import (
    DeleteOption,
    Force,
    MciAction,
    Reason,
    VmAction,
    tumblebug_act_on_mci,
    tumblebug_act_on_vm,
)
from stead.api.tumblebug.models import (
    AcceptedAction,
    IdList,
    MciInfo,
    MciStatus,
    NsInfo,
    NsList,
    VmInfoList,
    VmStatusList,
)
from stead.api.tumblebug.names import Id, VmId
from stead.api.tumblebug.reads import Limit, Option, tumblebug_read_mci

BROWSER = "sec-fetch-site"
"""A header that browsers add, and that no page can leave out."""


async def not_from_a_page(request: Request) -> None:
    """A GET that changes something is for programs: a browser sends one for any page that has a picture of it."""
    if BROWSER in request.headers or (COOKIE in request.cookies and "authorization" not in request.headers):
        message = "a browser has sent this: from there, POST to /tumblebug/ns/{nsId}/mci/{mciId}"
        raise ProblemResponse("foreign-page", message)


routes = router("tumblebug", "/tumblebug/ns")
Program = [Depends(not_from_a_page)]


@routes.get("")
async def tumblebug_list_ns(
    queries: QueriesDep,
    caller: Who,
    option: Annotated[str | None, Query(pattern="^id$", description="`id`: ids alone.")] = None,
) -> NsList | IdList:
    """The namespaces in which there is something, or was, as far as they are for the caller."""
    names = [path.removeprefix("/") for path in await queries.namespaces()]
    return IdList(output=names) if option == "id" else NsList(ns=[NsInfo(id=name, name=name) for name in names])


@routes.get("/{nsId}")
async def tumblebug_read_ns(queries: QueriesDep, nsId: Id) -> NsInfo:  # noqa: N803 - the dialect's name
    """A namespace."""
    if f"/{nsId}" not in await queries.namespaces():
        raise ProblemResponse("not-found", f"there is nothing in the namespace {nsId}")
    return NsInfo(id=nsId, name=nsId)


@routes.get("/{nsId}/mci/{mciId}/vm")
async def tumblebug_list_vm(
    queries: QueriesDep,
    nsId: Id,  # noqa: N803
    mciId: Id,  # noqa: N803
    option: Option = "default",
    limit: Limit = 1000,
) -> VmInfoList | VmStatusList | IdList:
    """The VMs of an MCI."""
    found = await tumblebug_read_mci(queries, nsId, mciId, option, limit)
    match found:
        case MciInfo():
            return VmInfoList(vm=found.vm)
        case MciStatus():
            return VmStatusList(vm=found.vm)
    return found


@routes.get("/{nsId}/control/mci/{mciId}", dependencies=Program)
async def tumblebug_control_mci(
    application: ApplicationDep,
    queries: QueriesDep,
    nsId: Id,  # noqa: N803
    mciId: Id,  # noqa: N803
    action: MciAction,
    caller: Who,
    response: Response,
    force: Force = False,
    reason: Reason = "",
    key: Key = "",
) -> AcceptedAction:
    """Ask for an action on an MCI, as by POST to the MCI itself."""
    return await tumblebug_act_on_mci(application, queries, nsId, mciId, action, caller, response, force, reason, key)


@routes.get("/{nsId}/control/mci/{mciId}/vm/{vmId}", dependencies=Program)
async def tumblebug_control_vm(
    application: ApplicationDep,
    queries: QueriesDep,
    nsId: Id,  # noqa: N803
    mciId: Id,  # noqa: N803
    vmId: VmId,  # noqa: N803
    action: VmAction,
    caller: Who,
    response: Response,
    force: Force = False,
    reason: Reason = "",
    key: Key = "",
) -> AcceptedAction:
    """Ask for an action on one VM, as by POST to the VM itself."""
    return await tumblebug_act_on_vm(
        application, queries, nsId, mciId, vmId, action, caller, response, force, reason, key
    )


@routes.delete("/{nsId}/mci/{mciId}/vm/{vmId}")
async def tumblebug_delete_vm(
    application: ApplicationDep,
    queries: QueriesDep,
    nsId: Id,  # noqa: N803
    mciId: Id,  # noqa: N803
    vmId: VmId,  # noqa: N803
    caller: Who,
    response: Response,
    option: DeleteOption = None,
    key: Key = "",
) -> AcceptedAction:
    """Terminate a VM. It is shown as Terminated until its MCI is deleted."""
    force = option == "force"
    return await tumblebug_act_on_vm(
        application, queries, nsId, mciId, vmId, "terminate", caller, response, force, "", key
    )
