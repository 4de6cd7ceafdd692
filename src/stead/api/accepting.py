"""How it is answered that a change was let in: 202 with its operation, or 200 where there was nothing to do."""

from __future__ import annotations

from fastapi import Response

from stead.api.models import Accepted, OperationName
from stead.controller.view import Taken


def accepted(taken: Taken, response: Response) -> Accepted:
    """The answer; the response says where to follow it."""
    told = {"joined": taken.joined, "idle": taken.idle, "repeated": taken.repeated}
    place = {"queued": taken.position is not None, "position": taken.position}
    if not taken.operation:
        response.status_code = 200
        return Accepted(operation=None, **told, **place)
    response.headers["Location"] = f"/v1/operations/{taken.operation}"
    name = OperationName(id=taken.operation, action=taken.action, kind=taken.kind, path=taken.path)
    return Accepted(operation=name, **told, **place)
