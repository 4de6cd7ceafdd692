"""How an instance is led to where a verb wants it: step by step, each of them an operation of LXD's.

What to do next follows from what is there, not from what was done before; so whatever was interrupted is finished by
doing it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import quote

from msgspec import Struct

from stead.drivers.base import RetryableError
from stead.drivers.lxd.call import Call, RejectedError
from stead.drivers.lxd.wire import FROZEN, RUNNING, STOPPED, Instance

MAX_TRIES = 2
"""How often a step is taken that failed while nobody else was at it."""


class Step(Struct, frozen=True, kw_only=True):
    """One thing to ask of LXD."""

    action: str
    """Of LXD's own; `delete` is none of the actions on a state."""
    force: bool = False
    last: bool = True
    """Nothing has to follow it: it need not be waited for."""


START = Step(action="start")
THAW = Step(action="unfreeze")
STOP = Step(action="stop", last=False)
STOP_NOW = Step(action="stop", force=True)
CLEAR = Step(action="stop", force=True, last=False)
DELETE = Step(action="delete")
RESTART = Step(action="restart", last=False)
RESTART_NOW = Step(action="restart", force=True)

Failed = Counter[Step]
Next = Callable[[Instance, Failed, float], Step | None]
"""The next step for what is there, after those that have failed; None at the goal. The number is the grace."""


def to_running(instance: Instance, _failed: Failed, _grace: float) -> Step | None:
    """Started, or thawed."""
    if instance.status in RUNNING:
        return None
    return THAW if instance.status == FROZEN else START


def to_stopped(instance: Instance, failed: Failed, grace: float) -> Step | None:
    """Asked to shut down, then made to. What is frozen hears nothing."""
    if instance.status == STOPPED:
        return None
    gently = grace > 0 and instance.status in RUNNING and not failed[STOP]
    return STOP if gently else STOP_NOW


def to_nothing(instance: Instance, failed: Failed, _grace: float) -> Step | None:
    """Stopped by force and deleted; deleted all the same if it cannot be stopped."""
    return DELETE if instance.status == STOPPED or failed[CLEAR] >= MAX_TRIES else CLEAR


NEXT: Mapping[str, Next] = {
    "create": to_running,
    "suspend": to_stopped,
    "resume": to_running,
    "terminate": to_nothing,
}


class Led(Struct, frozen=True, kw_only=True):
    """How far it came."""

    end: Literal["there", "pending", "gone", "failed"]
    error: str = ""


async def lead(call: Call, name: str, verb: str, grace: float) -> Led:
    """Take the steps that are needed, one after the other, each when nobody else is at it."""
    failed: Failed = Counter()
    error = ""
    while True:
        # Where force has failed, a stop may be under way that an earlier call asked for: that one is waited for.
        instance = await call.settled(name, heedless=verb == "terminate" and not failed)
        if instance is None:
            return Led(end="gone")
        step = NEXT[verb](instance, failed, grace)
        if step is None:
            return Led(end="there")
        if failed[step] >= MAX_TRIES:
            return Led(end="failed", error=error)
        said = await take(call, name, step, grace)
        if said is None:
            return Led(end="pending")
        if said:
            error = said
            failed[step] += 1


async def restart(call: Call, name: str, grace: float) -> Led:
    """Once: by force only after LXD has said that it could not be done gently, and left it running."""
    error = ""
    for step in (RESTART, RESTART_NOW) if grace > 0 else (RESTART_NOW,):
        instance = await call.settled(name)
        if instance is None:
            return Led(end="gone")
        if instance.status not in RUNNING:
            return Led(end="failed", error=error or f"it does not run: it is {instance.status}")
        said = await take(call, name, step, grace)
        if said is None:
            return Led(end="pending")
        if not said:
            return Led(end="there")
        error = said
    return Led(end="failed", error=error)


async def take(call: Call, name: str, step: Step, grace: float) -> str | None:
    """One step: why it failed, or nothing if it did not; None if it is the last one and still under way."""
    path = f"/1.0/instances/{quote(name, safe='')}"
    try:
        if step is DELETE:
            operation = await call.do("DELETE", path)
        else:
            wish: dict[str, Any] = {"action": step.action, "force": step.force}
            if not step.force:
                wish["timeout"] = max(1, round(grace))
            operation = await call.do("PUT", f"{path}/state", wish)
    except RejectedError as error:
        return error.message
    if operation.over:
        return operation.err
    if step.last:
        return None
    raise RetryableError("LXD is still at it", unknown=True, detail=f"{step.action} {name}")
