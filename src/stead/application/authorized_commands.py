"""Commands about resources, each with its authorization before it: what an interface calls for a caller."""

from __future__ import annotations

from uuid import UUID

from stead.access.authorized import Authorized
from stead.access.caller import Caller
from stead.application.acceptance import ActionAnswer
from stead.application.commands import Application, OperationAnswer
from stead.application.explanation import DryRun
from stead.application.models import InvalidRequest
from stead.application.systems import SystemPlan
from stead.controller.admission.request import ActionRequest, NotFound
from stead.lifecycle.decision import Rejection


async def request_action(application: Application, request: ActionRequest, caller: Caller) -> ActionAnswer:
    """Request a change for a caller."""
    found = await application.authorize(request, caller)
    return await application.request(request, found) if isinstance(found, Authorized) else found


async def dry_run_action(
    application: Application, request: ActionRequest, caller: Caller
) -> DryRun | Rejection | NotFound | InvalidRequest:
    """What an action that a caller requests would do."""
    found = await application.authorize(request, caller, dry_run=True)
    return await application.dry_run(request, found) if isinstance(found, Authorized) else found


async def plan_deploy(
    application: Application, request: ActionRequest, caller: Caller
) -> SystemPlan | Rejection | NotFound | InvalidRequest:
    """What a deploy that a caller requests would do."""
    found = await application.authorize(request, caller, dry_run=True)
    return await application.plan(request, found) if isinstance(found, Authorized) else found


async def cancel_operation(application: Application, id: UUID, caller: Caller) -> OperationAnswer:
    """Cancel an operation for a caller."""
    found = await application.authorize_operation(id, caller)
    return await application.cancel(id, found) if isinstance(found, Authorized) else found


async def promote_operation(application: Application, id: UUID, caller: Caller) -> OperationAnswer:
    """Put an operation first in its queue for a caller."""
    found = await application.authorize_operation(id, caller)
    return await application.promote(id, found) if isinstance(found, Authorized) else found


async def retry_operation(
    application: Application, id: UUID, caller: Caller, key: str = "", *, force: bool = False, reason: str = ""
) -> ActionAnswer:
    """Request once more for a caller what an operation was to do."""
    found = await application.authorize_operation(id, caller, again=True, force=force)
    if not isinstance(found, Authorized):
        return found
    return await application.retry(id, found, key, force=force, reason=reason)
