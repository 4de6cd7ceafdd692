"""A request on its way from an interface to admission, and the answer to it on its way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from stead.access.caller import Caller
from stead.application.dry_run import placed, request_of, with_path
from stead.application.models import Asked, InvalidRequest, ResourceNotFound, VersionMismatch
from stead.application.queries import Queries, tag_of
from stead.controller.admission.admission import Accepted, Admission
from stead.controller.admission.limits import exceeded
from stead.controller.admission.request import AdmissionRequest
from stead.controller.steps.machine_disks import DISK
from stead.lifecycle.decision import Rejection
from stead.lifecycle.definition import Lifecycle
from stead.store import Row


@dataclass(frozen=True)
class AcceptedRequest:
    """An action was let in, under this operation."""

    operation: str
    action: str
    kind: str
    path: str
    joined: bool = False
    no_change: bool = False
    repeated: bool = False
    position: int | None = None
    """Its place in its queue, where it waits its turn."""


type ActionAnswer = AcceptedRequest | Rejection | ResourceNotFound | VersionMismatch | InvalidRequest
"""What a request for an action may come to."""


def taken(answer: Accepted, action: str, kind: str, path: str) -> AcceptedRequest:
    """What was let in, and on what."""
    return AcceptedRequest(
        answer.operation, action, kind, path, answer.joined, answer.idle, answer.repeated, answer.position
    )


def mismatch(asked: Asked, row: Row | None) -> ResourceNotFound | VersionMismatch | None:
    """Why a request cannot be for what is at its path: nothing is there, another kind, or another version."""
    if row is None:
        unheard = asked.tags is not None or not asked.kind
        return ResourceNotFound(f"there is nothing at {asked.path}") if unheard else None
    if asked.kind not in ("", row.kind):
        return ResourceNotFound(f"there is no {asked.kind} {asked.path}; there is a {row.kind}")
    if asked.tags is not None and not {tag_of(row), "*"} & set(asked.tags):
        return VersionMismatch(tag_of(row), row.snapshot.state)
    return None


def wish_of(asked: Asked, caller: Caller, kind: str, row: Row | None = None) -> AdmissionRequest:
    """What is asked of admission."""
    request = request_of(asked, caller)
    wish = AdmissionRequest(
        kind, asked.path, request, caller.name, asked.spec, asked.lane, asked.key, plan=asked.plan, read=row
    )
    if asked.expect_agent:
        wish = replace(wish, expect_agent=True)
    return wish if asked.deploys is None else replace(wish, deploys=asked.deploys)


def answer_of(answer: Accepted | Rejection, wish: AdmissionRequest) -> AcceptedRequest | Rejection:
    """What is answered to it."""
    if isinstance(answer, Accepted):
        return taken(answer, wish.request.action, wish.kind, wish.path)
    if wish.said:
        answer = replace(answer, reasons=with_path(answer.reasons, wish.path))
    return placed(answer, wish.path)


def grown(kinds: Mapping[str, Lifecycle], asked: Asked, row: Row | None) -> InvalidRequest | None:
    """That a spec would be too large with what is laid over it."""
    action = kinds[row.kind].action(asked.action) if row is not None and row.kind in kinds else None
    if row is None or action is None or not action.amends:
        return None
    return next((InvalidRequest(*found) for found in exceeded(row.path, {**row.spec, **asked.spec})), None)


async def again(
    view: Queries, admission: Admission, asked: Asked, caller: Caller
) -> AcceptedRequest | Rejection | None:
    """The answer that was given to the same key: what it was used on may have changed, or be gone, by now."""
    used = await view.store.operations.find_key(caller.name, asked.key, "") if asked.key else None
    record = await view.store.operations.read(UUID(used.operation)) if used is not None else None
    if record is None:
        return None
    wish = wish_of(asked, caller, str(record["kind"]) if record["path"] == asked.path else DISK)
    answer = await admission.answered(wish)
    if isinstance(answer, Accepted):
        return taken(answer, record["action"], record["kind"], record["path"])
    return None if answer is None else answer_of(answer, wish)
