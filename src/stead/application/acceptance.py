"""What the application adds to a request before admission, and to the answer after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from stead.application.dry_run import placed, with_path
from stead.application.models import InvalidRequest, VersionMismatch
from stead.application.reader import Reader, tag_of
from stead.controller.admission.admission import Admission
from stead.controller.admission.limits import exceeded
from stead.controller.admission.request import Accepted, ActionRequest, NotFound
from stead.controller.steps.machine_disks import DISK
from stead.lifecycle.decision import Rejection
from stead.lifecycle.definition import Lifecycle
from stead.store import Row

type ActionAnswer = Accepted | Rejection | NotFound | VersionMismatch | InvalidRequest
"""The answers to a request; the last two are given before admission sees it."""


def mismatch(request: ActionRequest, row: Row | None) -> NotFound | VersionMismatch | None:
    """Why a request cannot be for what is at its path: nothing is there, another kind, or another version."""
    if row is None:
        unheard = request.tags is not None or not request.kind
        return NotFound(f"there is nothing at {request.path}") if unheard else None
    if request.kind not in ("", row.kind):
        return NotFound(f"there is no {request.kind} {request.path}; there is a {row.kind}")
    if request.tags is not None and not {tag_of(row), "*"} & set(request.tags):
        return VersionMismatch(tag_of(row), row.snapshot.state)
    return None


def answer_of(answer: Accepted | Rejection, request: ActionRequest) -> Accepted | Rejection:
    """The answer with its path, of a request that became one of another resource."""
    if isinstance(answer, Accepted):
        return answer
    if request.original:
        answer = replace(answer, reasons=with_path(answer.reasons, request.path))
    return placed(answer, request.path)


def grown(kinds: Mapping[str, Lifecycle], request: ActionRequest, row: Row | None) -> InvalidRequest | None:
    """That a spec would be too large with what is laid over it."""
    action = kinds[row.kind].action(request.action) if row is not None and row.kind in kinds else None
    if row is None or action is None or not action.amends_spec:
        return None
    return next((InvalidRequest(*found) for found in exceeded(row.path, {**row.spec, **request.spec})), None)


async def earlier_answer(
    reader: Reader, admission: Admission, request: ActionRequest, principal: str
) -> Accepted | Rejection | None:
    """The answer that was given to the same key: what it was used on may have changed, or be gone, by now."""
    used = await reader.store.operations.find_key(principal, request.key, "") if request.key else None
    record = await reader.store.operations.read(UUID(used.operation)) if used is not None else None
    if record is None:
        return None
    request = replace(request, kind=str(record["kind"]) if record["path"] == request.path else DISK)
    answer = await admission.answered(request, principal)
    if isinstance(answer, Accepted):
        return replace(answer, action=record["action"], kind=record["kind"], path=record["path"])
    return None if answer is None else answer_of(answer, request)
