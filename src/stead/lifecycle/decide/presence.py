"""Agents come and go. A new notify-id is let in at any time; the connection of an older one says nothing."""

from __future__ import annotations

from dataclasses import replace

from stead.lifecycle.decide.draft import DecisionDraft, refuse
from stead.lifecycle.decision import Code, Decision, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Connected, Disconnected
from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import Operation, Phase, Snapshot

CONNECT = "connect"


def on_connected(lc: Lifecycle, snap: Snapshot, event: Connected) -> Decision | Rejection:
    """An agent says hello."""
    if not lc.presence:
        return refuse(snap, Code.NOT_EXPECTED, f"a {lc.kind} has no agent of its own")
    if event.successor:
        return _successor(lc, snap, event)
    if event.notify <= snap.notify:
        return refuse(snap, Code.STALE, "the notify-id is not new")
    draft = DecisionDraft(lc, snap)
    draft.set(notify=event.notify, connected=True)
    if snap.operation is not None and snap.operation.cancelled and _welcoming(lc, snap.operation):
        draft.finish(Outcome.FAILED)  # who comes is let in, and that is another matter
    op = draft.now.operation
    if op is not None and not _welcoming(lc, op):
        # An upgrade is under way and its old agent was restarted: it is told again what to do.
        if snap.work is not None:
            draft.order(snap.work.verb, again=True)
        return draft.decision()
    rows = lc.rows(snap.state, Trigger.CONNECTED, CONNECT)
    action = lc.action(CONNECT)
    assert action is not None
    if not rows and snap.state not in action.via:
        return draft.decision()
    origin = op.origin if op else snap.state
    again = replace(op, phase=Phase.ACTING, step=0) if op else Operation(CONNECT, origin=origin, id=event.operation)
    draft.set(operation=again)
    draft.withdraw()
    draft.move(Trigger.CONNECTED, CONNECT, Actor.AGENT, action.via[0])
    draft.enter()
    return draft.decision()


def _welcoming(lc: Lifecycle, op: Operation) -> bool:
    """Whether the running operation is one that waits for the agent to come up."""
    connect, running = lc.action(CONNECT), lc.action(op.action)
    return connect is not None and running is not None and running.via == connect.via


def _successor(lc: Lifecycle, snap: Snapshot, event: Connected) -> Decision | Rejection:
    """The new agent of an upgrade says hello."""
    op = snap.operation
    if op is None or _welcoming(lc, op) or op.phase is not Phase.ACTING:
        return refuse(snap, Code.NOT_EXPECTED, "no upgrade is under way that a new agent belongs to")
    if event.notify <= max(snap.successor, snap.notify):
        return refuse(snap, Code.STALE, "the notify-id is not new")
    draft = DecisionDraft(lc, snap)
    draft.set(successor=event.notify)
    for row in lc.rows(snap.state, Trigger.CONNECTED, op.action):
        draft.move(row.trigger, row.on, row.actor, row.target)
    return draft.decision()


def on_disconnected(lc: Lifecycle, snap: Snapshot, event: Disconnected) -> Decision | Rejection:
    """A connection is gone; it matters only if nobody has come since."""
    if event.notify != snap.notify or not snap.connected:
        return refuse(snap, Code.STALE, "another agent has connected since")
    draft = DecisionDraft(lc, snap)
    draft.set(connected=False)
    op = snap.operation
    if op is None or _welcoming(lc, op):
        for row in lc.rows(snap.state, Trigger.DISCONNECTED, CONNECT):
            draft.move(row.trigger, row.on, row.actor, row.target)
            if op is not None:
                draft.finish(Outcome.FAILED)
                draft.withdraw()
    return draft.decision()
