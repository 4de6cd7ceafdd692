"""Rejections of requests that met a conflict, and of commands about operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stead.lifecycle.decision import Code, Outcome, Reason, Rejection
from stead.store import Conflict


def ended(record: Mapping[str, Any], refusal: Rejection) -> Rejection:
    """That an operation that was to be cancelled has ended, and how."""
    how = f"ended {record['outcome']}" if record["outcome"] else "is not under way any more"
    says = f"{record['action']} of {record['path']} {how}: there is nothing to cancel"
    return replace(refusal, reasons=(Reason(Code.ENDED, says),), retry_after=None)


def nothing_to_retry(record: Mapping[str, Any], state: str) -> Rejection:
    """Why an operation cannot be tried once more."""
    why = {
        "": "is still under way: wait for its end, or cancel it",
        Outcome.SUCCEEDED: "is done: there is nothing to retry",
        Outcome.PREEMPTED: "was displaced by an operation that outranks it",
    }
    planned = "was planned for the members there were: see how many there are now, and ask anew"
    says = f"{record['action']} of {record['path']} {why.get(record['outcome'], planned)}"
    return Rejection((Reason(Code.NOT_RETRYABLE, says),), state)


def rejection_of(conflict: Conflict | None) -> Rejection:
    """The rejection that follows from a conflict at commit; None: too many of them."""
    holder = conflict.holder if conflict is not None else None
    if conflict is not None and conflict.kind == "changed":
        says = "what is there has changed since the plan was made: look at a new plan"
        return Rejection((Reason(Code.CHANGED, says),), "")
    if conflict is not None and conflict.kind == "together":
        return Rejection((Reason(Code.NOT_EXPECTED, conflict.says),), "")
    says = f"{holder.action} by {holder.by} holds {holder.path}" if holder else "it changes too fast to be decided on"
    return Rejection((Reason(Code.HELD, says),), "", holder=holder, retry_after=1)
