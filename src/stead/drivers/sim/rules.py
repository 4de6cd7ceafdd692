"""What an instance of the simulated cloud can be and what each verb does to it: a table, and nothing else."""

from __future__ import annotations

from typing import NamedTuple

PENDING = "pending"
RUNNING = "running"
STOPPING = "stopping"
STOPPED = "stopped"
STARTING = "starting"
REBOOTING = "rebooting"
UPDATING = "updating"
SHUTTING_DOWN = "shutting-down"
TERMINATED = "terminated"
BROKEN = "error"

MOVING = frozenset({PENDING, STOPPING, STARTING, REBOOTING, UPDATING, SHUTTING_DOWN})
TERMINATING = frozenset({SHUTTING_DOWN, TERMINATED})


class Verb(NamedTuple):
    """One verb: where it is allowed, where it has nothing to do, and where it leads."""

    starts: frozenset[str]
    idle: frozenset[str]
    through: str
    ends: str


CREATE = Verb(frozenset(), frozenset(), PENDING, RUNNING)

VERBS = {
    "suspend": Verb(frozenset({RUNNING}), frozenset({STOPPING, STOPPED}), STOPPING, STOPPED),
    "resume": Verb(frozenset({STOPPED}), frozenset({PENDING, STARTING, RUNNING}), STARTING, RUNNING),
    # Never idle: a reboot carries no token, so one more request is one more reboot.
    "reboot": Verb(frozenset({RUNNING, REBOOTING}), frozenset(), REBOOTING, RUNNING),
    # Idle only where it is as it is to be, which the state alone does not tell.
    "update": Verb(frozenset({RUNNING, BROKEN}), frozenset(), UPDATING, RUNNING),
    "restore": Verb(frozenset({RUNNING, BROKEN, *TERMINATING}), frozenset(), UPDATING, RUNNING),
    "terminate": Verb(MOVING - TERMINATING | {RUNNING, STOPPED, BROKEN}, TERMINATING, SHUTTING_DOWN, TERMINATED),
}

RESPEC = ("update", "restore")
"""Verbs that come with a spec."""

MAKES = "restore"
"""The one of them that makes what is not there."""

DRIFTS = {"stop": STOPPED, "start": RUNNING, "break": BROKEN, "delete": TERMINATED}
"""What can happen to an instance without anybody having asked for it."""
