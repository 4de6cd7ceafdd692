"""What LXD says: the parts of its answers that the driver reads, and the lifecycle's words for its states."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from stead.drivers.base import TRANSITIONAL
from stead.lifecycle.rows import ABSENT, BROKEN

OWNER = "user.stead.owner"
PATH = "user.stead.path"
TOKEN = "user.stead.token"
SPEC = "user.stead.spec"
"""A digest of the spec that it was made from."""
ORDER = "user.stead.order"
"""The order that made it."""

RUNNING = frozenset({"Running", "Ready"})
"""It runs; `Ready` is what it says of itself beyond that."""
STOPPED = "Stopped"
FROZEN = "Frozen"

WORDS = {
    **dict.fromkeys(RUNNING, "Running"),
    STOPPED: "Suspended",
    # Nobody here freezes. Who did so by hand has an instance that does not run and keeps its disk, and `resume` leads
    # out of it; called moving, it would never be reported.
    FROZEN: "Suspended",
    **dict.fromkeys(("Pending", "Starting", "Stopping", "Aborting", "Freezing", "Thawed"), TRANSITIONAL),
    "Error": BROKEN,
}
"""The lifecycle's words for the states of an instance."""

MOVES = frozenset(
    f"{doing} instance"
    for doing in (
        "Creating",
        "Starting",
        "Stopping",
        "Restarting",
        "Freezing",
        "Unfreezing",
        "Deleting",
        "Rebuilding",
    )
)
"""Operations that lead from one state to another. A shell that is open in an instance is an operation as well."""

STOPPING = "Stopping instance"

UNDER_WAY = frozenset({"pending", "running", "cancelling"})
"""The lists of operations that have not ended."""

SUCCESS = 200
FAILURES = frozenset({400, 401})
"""What an operation that has ended has for a status: failed, cancelled."""


class Envelope(Struct, frozen=True, kw_only=True):
    """What every answer is wrapped in."""

    type: str
    operation: str = ""
    error: str = ""
    metadata: msgspec.Raw = msgspec.Raw(b"null")


class Instance(Struct, frozen=True, kw_only=True):
    """An instance, as it is listed."""

    name: str
    status: str
    created_at: datetime
    last_used_at: datetime
    """When it was last started; years ago if it never was."""
    config: dict[str, str] = {}


class Operation(Struct, frozen=True, kw_only=True):
    """Something that LXD is doing, or has done."""

    id: str
    status_code: int
    description: str = ""
    err: str = ""
    resources: dict[str, list[str]] | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.status_code == SUCCESS or self.status_code in FAILURES

    @property
    def instances(self) -> set[str]:
        """The names of the instances that it is about."""
        addresses = (self.resources or {}).get("instances") or []
        return {address.partition("?")[0].rpartition("/")[2] for address in addresses}


def never_started(instance: Instance) -> bool:
    """Whether it was made, and has not been started since."""
    return instance.status == STOPPED and instance.last_used_at < instance.created_at


def word(instance: Instance | None, under_way: bool, now: datetime, longest_call: float) -> str:
    """The lifecycle's word for what is there.

    What was just made and not yet started may be about to be: its creation can be under way for as long as a call
    lasts. After that nobody is left who would start it, and it is what it is: there, and stopped.
    """
    if under_way:
        return TRANSITIONAL
    if instance is None:
        return ABSENT
    if never_started(instance) and now - instance.created_at < timedelta(seconds=longest_call):
        return TRANSITIONAL
    return WORDS.get(instance.status, BROKEN)
