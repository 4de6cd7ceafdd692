"""Operations on groups: what one says of itself is true of its members."""

from __future__ import annotations

from collections.abc import Iterator

from stead.catalog import KINDS
from stead.lifecycle.decision import Outcome
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import Action
from tests.chaos.history import History, Line

LEFT_OUT = ("skipped", "unchanged")
REFINE = "refine"


def done_by_all(history: History) -> Iterator[str]:
    """Where an operation on a group is done, no member failed at it, and each that began has come where it leads."""
    failed = [one for one in history.members if one["outcome"] not in (Outcome.SUCCEEDED, *LEFT_OUT)]
    done = {
        op.id: op
        for op in history.ended
        if op.outcome == Outcome.SUCCEEDED and KINDS[op.kind].members and op.partial != REFINE
    }
    for one in failed:
        if (op := done.get(one["operation"])) is not None:
            yield f"{op.action} of {op.path} ({op.id}) is done, and {one['path']} ended {one['outcome']}"
    for line in _lasts(history):
        op = done.get(line.operation)
        if op is None or line.path == op.path:
            continue
        action = KINDS[op.kind].action(op.action)
        follows = KINDS[line.kind].action(_asks(KINDS[op.kind], action)) if action is not None else None
        if follows is None or line.target != follows.target:
            yield f"{op.action} of {op.path} ({op.id}) is done, and led {line.path} to {line.target}"


def _asks(lifecycle: Lifecycle, action: Action) -> str:
    """What an action asks of what is below: all the time, or in a state on its way."""
    return action.member_action or next((lifecycle.state(name).member_action for name in action.via), "")


def _lasts(history: History) -> list[Line]:
    """The last line of each operation on each path."""
    return list({(line.operation, line.path): line for line in history.journal if not line.rejections}.values())
