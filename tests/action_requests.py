"""Requests for actions with the permission of whom they are from, as tests give them to admission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from stead.access.authorized import Authorized
from stead.controller.admission.admission import Admission
from stead.controller.admission.operations import OperationCommands
from stead.controller.admission.request import Accepted, ActionRequest, NotFound
from stead.lifecycle.decision import Rejection
from stead.lifecycle.events import Request
from stead.lifecycle.rows import Actor

type AuthorizedRequest = tuple[ActionRequest, Authorized]


def requested(
    kind: str,
    path: str,
    request: Request,
    principal: str,
    spec: Mapping[str, Any] | None = None,
    lane: str = "",
    key: str = "",
    **more: Any,
) -> AuthorizedRequest:
    """A request of a principal, and the permission for it."""
    action = ActionRequest(
        path,
        request.action,
        kind,
        spec or {},
        lane,
        force=request.force,
        reason=request.reason,
        hold=request.hold,
        on_failure=request.on_failure,
        on_partial=request.on_partial,
        on_conflict=request.on_conflict,
        within=request.within,
        key=key,
        **more,
    )
    return action, permission(principal, request.actor, request.action)


def permission(principal: str, actor: Actor, action: str) -> Authorized:
    """A permission for an action."""
    return Authorized.of_record(principal, actor, action)


def changed(request: AuthorizedRequest, **changes: Any) -> AuthorizedRequest:
    """The same request of another resource, kind or lane."""
    return replace(request[0], **changes), request[1]


async def retry(
    admission: Admission, operation: UUID, principal: str, actor: Actor = Actor.USER, key: str = "", **how: Any
) -> Accepted | Rejection | NotFound:
    """Retry an operation with the permission for its action."""
    permitted = await _permission(admission, operation, principal, actor)
    return await OperationCommands(admission).retry(operation, permitted, key, **how)


async def cancel(
    admission: Admission, operation: UUID, principal: str, actor: Actor = Actor.USER
) -> Accepted | Rejection | NotFound:
    """Cancel an operation with the permission for its action."""
    permitted = await _permission(admission, operation, principal, actor)
    return await OperationCommands(admission).cancel(operation, permitted)


async def promote(
    admission: Admission, operation: UUID, principal: str, actor: Actor = Actor.USER
) -> Accepted | Rejection | NotFound:
    """Promote an operation with the permission for its action."""
    permitted = await _permission(admission, operation, principal, actor)
    return await OperationCommands(admission).promote(operation, permitted)


async def _permission(admission: Admission, operation: UUID, principal: str, actor: Actor) -> Authorized:
    record = await admission.store.operations.read(operation)
    return permission(principal, actor, record["action"] if record is not None else "")
