"""How it is answered that a change was let in: 202 with its operation, or 200 where there was nothing to do."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Response

from stead import application
from stead.api.problems import problem_response
from stead.application.acceptance import ActionAnswer
from stead.application.names import operation_id
from stead.schema import Model


@dataclass(frozen=True, slots=True)
class OperationName(Model):
    """An operation, by which to find it."""

    id: str
    action: str
    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class Accepted(Model):
    """A change was let in, and will be carried to a settled end."""

    operation: OperationName | None
    """Null where there was nothing to do."""
    joined: bool
    """The operation was running already."""
    no_change: bool
    """There was nothing to do."""
    repeated: bool
    """The same request was let in before, under the same key."""
    queued: bool
    """It waits its turn."""
    position: int | None
    """While it waits: its place in its queue; 1 is the next."""


def accepted(taken: ActionAnswer, response: Response) -> Accepted:
    """The answer, or the problem where there is none; the response says where to follow it."""
    if not isinstance(taken, application.Accepted):
        raise problem_response(taken)
    name = None
    if taken.operation:
        id = operation_id(taken.path, taken.operation)
        name = OperationName(id=id, action=taken.action, kind=taken.kind, path=taken.path)
        response.headers["Location"] = f"/v1/operations/{id}"
    else:
        response.status_code = 200
    queued = taken.position is not None
    return Accepted(name, taken.joined, taken.no_change, taken.repeated, queued, taken.position)
