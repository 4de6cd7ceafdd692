"""Rejections of requests about operations that have ended, or have not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stead.lifecycle.decision import Code, Outcome, Reason, Rejection


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
