"""Ask for actions in the dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request, Response
from pydantic import AfterValidator

from stead.access.caller import Caller
from stead.api.identity import COOKIE, Who
from stead.api.problems import ProblemResponse, problem_response
from stead.api.request_ids import Key
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.api.tumblebug.models import AcceptedAction
from stead.api.tumblebug.names import MciPath, NamedVm, action_name, display_name, find_vm
from stead.api.tumblebug.presentation import text
from stead.api.tumblebug.reads import group_status
from stead.application import Accepted, ActionRequest, Rejection, authorized_commands
from stead.application.commands import Application
from stead.application.models import InvalidRequest
from stead.application.names import operation_id
from stead.application.queries import Queries
from stead.application.storable import storable

FORCED = "forced through the tumblebug interface"
"""The reason of whoever forces and gives none: the dialect has no word for it."""
ABSENT = "Absent"
"""How something stands that is no longer there: a creation that was withdrawn."""
BUSY_CODES = ("in-progress", "held", "wrong-state", "parent")
"""Refusals for which an action that is under way may be the cause."""
FINISHED_COUNTS = {"countTotal", "countTerminated", "countFailed", "countUndefined"}
"""The counts of VMs that are forgotten without further ado."""

MciAction = Annotated[Literal["suspend", "resume", "reboot", "terminate", "refine", "continue", "withdraw"], Query()]
VmAction = Annotated[Literal["suspend", "resume", "reboot", "terminate"], Query()]
Force = Annotated[bool, Query(description="Whatever the state says.")]
Reason = Annotated[
    str,
    Query(max_length=1000, description="Why it is done; it stays with the operation."),
    AfterValidator(storable),
]
DeleteOption = Annotated[
    Literal["terminate", "force"] | None,
    Query(description="Also if it has VMs that are not terminated: they are, first."),
]


async def _forcing(force: Force = False, reason: Reason = "", key: Key = "") -> dict[str, Any]:
    return {"force": force, "reason": reason or (FORCED if force else ""), "key": key}


Forcing = Annotated[dict[str, Any], Depends(_forcing)]
"""What every action on an MCI or a VM can be given, as fields of its request."""

BROWSER = "sec-fetch-site"
"""A header that browsers add, and that no page can leave out."""


async def not_from_a_page(request: Request) -> None:
    """A GET that changes something is for programs: a browser sends one for any page that has a picture of it."""
    if BROWSER in request.headers or (COOKIE in request.cookies and "authorization" not in request.headers):
        message = "a browser has sent this: from there, POST to /tumblebug/ns/{nsId}/mci/{mciId}"
        raise ProblemResponse("cross-origin", message)


routes = router("tumblebug", "/tumblebug/ns/{nsId}")
Program = [Depends(not_from_a_page)]


@routes.get("/control/mci/{mciId}", name="tumblebug_control_mci", dependencies=Program)
@routes.post("/mci/{mciId}")
async def tumblebug_act_on_mci(
    application: ApplicationDep,
    queries: QueriesDep,
    path: MciPath,
    action: MciAction,
    caller: Who,
    response: Response,
    forcing: Forcing,
) -> AcceptedAction:
    """Ask for an action on an MCI: all of its VMs that can follow do. Both paths do the same."""
    accepted = await request_action(
        application, ActionRequest(path=path, action=action, kind="mci", **forcing), caller
    )
    group = await queries.standing(path)
    return accepted_action(accepted, ABSENT if group is None else text(group), response)


@routes.delete("/mci/{mciId}")
async def tumblebug_delete_mci(
    application: ApplicationDep,
    queries: QueriesDep,
    path: MciPath,
    caller: Who,
    response: Response,
    option: DeleteOption = None,
    key: Key = "",
) -> AcceptedAction:
    """Remove an MCI for good."""
    group = await group_status(queries, path)
    alive = {name: count for name, count in group.counts.items() if count and name not in FINISHED_COUNTS}
    if alive and option is None:
        message = f"it is {group.summary}: terminate it first, or say option=terminate"
        raise ProblemResponse("not-empty", message, current_state=group.resource.state)
    request = ActionRequest(path=group.resource.path, action="delete", kind="mci", key=key)
    return accepted_action(await request_action(application, request, caller), text(group), response)


@routes.get("/control/mci/{mciId}/vm/{vmId}", name="tumblebug_control_vm", dependencies=Program)
@routes.post("/mci/{mciId}/vm/{vmId}")
async def tumblebug_act_on_vm(
    application: ApplicationDep,
    queries: QueriesDep,
    named: NamedVm,
    action: VmAction,
    caller: Who,
    response: Response,
    forcing: Forcing,
) -> AcceptedAction:
    """Ask for an action on one VM. Both paths do the same."""
    vm = await find_vm(queries, named)
    accepted = await request_action(
        application, ActionRequest(path=vm.path, action=action, kind="vm", **forcing), caller
    )
    found = await queries.resource(vm.path)
    return accepted_action(accepted, found.state if found is not None else vm.state, response)


@routes.delete("/mci/{mciId}/vm/{vmId}")
async def tumblebug_delete_vm(
    application: ApplicationDep,
    queries: QueriesDep,
    named: NamedVm,
    caller: Who,
    response: Response,
    option: DeleteOption = None,
    key: Key = "",
) -> AcceptedAction:
    """Terminate a VM. It is shown as Terminated until its MCI is deleted."""
    forcing = await _forcing(option == "force", "", key)
    return await tumblebug_act_on_vm(application, queries, named, "terminate", caller, response, forcing)


async def request_action(
    application: Application,
    request: ActionRequest,
    caller: Caller,
    translate: Callable[[InvalidRequest], InvalidRequest] = lambda invalid: invalid,
) -> Accepted:
    """Ask, and raise whatever speaks against it."""
    answer = await authorized_commands.request_action(application, request, caller)
    if isinstance(answer, Accepted):
        return answer
    problem = problem_response(translate(answer) if isinstance(answer, InvalidRequest) else answer)
    if (
        isinstance(answer, Rejection)
        and problem.code in BUSY_CODES
        and (
            under := await _holder(application.queries(application.authorization.view(caller)), request.path, answer)
        )
    ):
        problem.detail = under if answer.holder is not None else f"{under}: {problem.detail}"
    raise problem


async def _holder(queries: Queries, path: str, rejection: Rejection) -> str:
    """Which action is in the way, of whom and since when."""
    holder = rejection.holder
    if holder is not None:
        where, action, by, since = holder.path or path, holder.action, holder.by, holder.since
    else:
        found = await queries.resource(path)
        running = (found.operation or found.hidden) if found is not None else None
        if running is None:
            return ""
        where, action, by, since = (
            path,
            running.action,
            running.principal,
            running.since.isoformat() if running.since else "",
        )
    who = f" by {by}" if by else ""
    when = f" since {since}" if since else ""
    return f"{display_name(where)} is under {action_name(action)}{who}{when}, please try later"


def accepted_action(accepted: Accepted, status: str, response: Response) -> AcceptedAction:
    """The answer to an action that was let in."""
    what = f"{action_name(accepted.action)} of {accepted.path}"
    if not accepted.operation:
        return AcceptedAction(message=f"{what}: there is nothing to do", operation=None, status=status)
    id = operation_id(accepted.path, accepted.operation)
    response.headers["Location"] = f"/v1/operations/{id}"
    how = "was under way already" if accepted.joined else "was let in before" if accepted.repeated else "is under way"
    return AcceptedAction(message=f"{what} {how}", operation=id, status=status)
