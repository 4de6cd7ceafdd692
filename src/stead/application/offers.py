"""What a caller could ask of a resource now: each action is decided on as if the caller had asked for it.

An interface offers an action only if a request for it would be accepted and begin something: not if it would join
what is in progress, wait its turn, or find nothing to do. So the same rules apply as to a request: the state, claims,
ancestors, quotas, members of a group, policies and lanes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stead.access.authorization import asked_thing
from stead.access.caller import Caller
from stead.application.dry_run import begins_now, standing_of
from stead.application.validation import fitted, lane_of
from stead.controller.admission.request import ActionRequest
from stead.lifecycle.decide.request import UNDO
from stead.lifecycle.decision import Rejection
from stead.store import Row

if TYPE_CHECKING:
    from stead.application.commands import Application


async def offers(application: Application, row: Row, caller: Caller, place: str = "") -> tuple[str, ...]:
    """The actions that a request of the caller would begin now, in the order of the lifecycle.

    What runs beside others is decided on for the place below the resource, where one is given.
    """
    lifecycle = application.kinds[row.kind]
    names = [action.name for action in lifecycle.actions]
    if lifecycle.action(UNDO) is None:
        names.append(UNDO)
    standing = await standing_of(application.reader, row)
    found = []
    for name in names:
        known = lifecycle.action(name)
        spec = {"path": place} if place and known is not None and known.scoped else {}
        request = ActionRequest(row.path, name, row.kind, spec)
        thing = asked_thing(row.path, row.kind, {}, row, name, lane_of(request))
        authorized = application.authorization.authorize(caller, name, thing)
        if isinstance(authorized, Rejection):
            continue
        if not await begins_now(application.reader, standing, request, authorized.caller):
            continue
        fit = await fitted(application.reader.store, application.kinds, request)
        if (
            await application.compound.forbidden(caller, fit if isinstance(fit, ActionRequest) else request, row)
            is not None
        ):
            continue
        if await application.lanes_refused(request, caller, row) is None:
            found.append(name)
    return tuple(found)


async def with_offers(
    application: Application, refusal: Rejection, request: ActionRequest, caller: Caller
) -> Rejection:
    """A rejection, with what the caller could ask for instead."""
    row = await application.reader.store.resources.read(request.path)
    if row is None:
        return refusal
    return replace(refusal, allowed=await offers(application, row, caller, place_in(request)))


def place_in(request: ActionRequest) -> str:
    """The place below a resource that a request names, of what runs beside others."""
    place = request.spec.get("path", "")
    return place if isinstance(place, str) else ""
