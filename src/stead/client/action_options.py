"""What a request for an action may carry beside the action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict


class ActionOptions(TypedDict, total=False):
    """Keyword arguments of `Client.ask`, and of what prepares it."""

    kind: str
    """Needed to make something; elsewhere it guards against a path of another kind."""
    spec: Mapping[str, Any]
    lane: str
    force: bool
    reason: str
    hold: bool
    on_failure: Literal["rollback", "keep"]
    on_partial: Literal["continue", "rollback", "refine"]
    on_conflict: Literal["default", "reject", "queue"]
    expect_agent: bool
    """The agent of a lane comes later: a lane that no agent has served yet is accepted."""
