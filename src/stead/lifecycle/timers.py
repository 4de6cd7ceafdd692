"""Which timers run for a resource: a function of its snapshot, so that none can be forgotten and none left behind.

Names are stable: `deadline` (the state, or the phase of its operation, has lasted long enough), `resend` (an order
that nobody took), `custody` (whoever took it has not been heard of), `fenced` (nobody can act under an old fence any
more), `again` (look once more for what was missed), `next` (the controller goes on), `step` (its own work has not
been reported), `hold`, `expiry`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import AwaitedParty, StateClass
from stead.lifecycle.snapshot import Operation, Phase, Snapshot


@dataclass(frozen=True, slots=True)
class RunningTimer:
    """A timer that runs: for how long, and since what. When `since` changes it starts anew."""

    after: int
    since: Hashable


def pending(lc: Lifecycle, snap: Snapshot) -> Mapping[str, RunningTimer]:
    """The timers that run for a resource."""
    found: dict[str, RunningTimer] = {}
    pace = lc.pace
    state = lc.state(snap.state)
    op = snap.hidden or snap.operation
    work = snap.work
    if work is not None:
        found["custody" if work.taken else "resend"] = RunningTimer(
            pace.custody if work.taken else pace.resend, snap.fence
        )
    if op is None:
        if state.cls is StateClass.TRANSITIONAL and state.timeout:
            found["deadline"] = RunningTimer(state.timeout, state.name)
        elif state.expiry is not None:
            found["expiry"] = RunningTimer(pace.retention or state.expiry.after, state.name)
        return found
    since = (state.name, op.action, op.phase, op.step)
    if op.phase is Phase.FENCING:
        found["fenced"] = RunningTimer(pace.custody, snap.fence)
    elif op.phase is Phase.HELD:
        found["hold"] = RunningTimer(pace.hold, since)
    elif op.phase is Phase.PROBING:
        found["deadline"] = RunningTimer(pace.probe, since)
        if work is None:
            found["again"] = RunningTimer(pace.again, (since, snap.misses))
    elif op.phase is Phase.ROLLING_BACK:
        found["deadline"] = RunningTimer(pace.undo, since)
    elif op.phase is Phase.ACTING:
        # While a hidden operation acts, the state shows another one, which waits for it.
        moving = state.cls is StateClass.TRANSITIONAL and snap.hidden is None
        found["deadline"] = RunningTimer((state.timeout if moving else None) or pace.unseen_work, since)
        if moving and state.awaits is AwaitedParty.CONTROLLER and (snap.connected or not _welcomes(lc, op)):
            found["next"] = RunningTimer(0, since)
        if moving and state.awaits is AwaitedParty.STEP:
            found["step"] = RunningTimer(pace.step, snap.fence)
    return found


def _welcomes(lc: Lifecycle, op: Operation) -> bool:
    """Whether the operation is about an agent that has to be there for it to go on."""
    action = lc.action(op.action)
    return lc.presence and action is not None and bool(action.verbs)
