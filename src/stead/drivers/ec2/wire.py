"""What EC2's answers say of instances, as far as we read them, and the tags and names of all that is made there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from stead.drivers.base import TRANSITIONAL, Member
from stead.lifecycle.rows import ABSENT

OWNER_TAG = "stead:owner"
PATH_TAG = "stead:path"
TOKEN_TAG = "stead:token"
LAUNCH_TAG = "stead:launch"
"""The token of the launch that an instance came with; its place in the launch is EC2's own launch index."""
COUNT_TAG = "stead:count"
"""How many instances that launch had."""
NAME_TAG = "Name"
"""What the console shows."""

MAX_TAG_CHARS = 256
MAX_CLIENT_TOKEN_CHARS = 64

TERMINATING = ("shutting-down", "terminated")
AVAILABLE = "Available"
"""The lifecycle's word for what VMs share, where a VM runs."""
WORDS = {
    "pending": TRANSITIONAL,
    "running": "Running",
    "stopping": TRANSITIONAL,
    "stopped": "Suspended",
    "shutting-down": TRANSITIONAL,
    "terminated": ABSENT,
}
"""The lifecycle's words for the states of an instance."""


class State(Struct, rename="pascal"):
    """Of an instance."""

    name: str


class Tag(Struct, rename="pascal"):
    """Of anything."""

    key: str
    value: str = ""


class Tagged(Struct, rename="pascal", kw_only=True):
    """Anything that is listed with its tags."""

    tags: list[Tag] = []

    def tag(self, key: str) -> str:
        """Its value, or nothing."""
        return next((tag.value for tag in self.tags if tag.key == key), "")


class Instance(Tagged, kw_only=True):
    """As it is listed."""

    instance_id: str
    state: State
    image_id: str = ""
    ami_launch_index: int = 0
    """Its place in its launch, from 0."""


class Reservation(Struct, rename="pascal"):
    """The instances of one launch; also the answer to it."""

    instances: list[Instance] = []


class Page(Struct, rename="pascal"):
    """Of a list of instances. One that is empty need not be the last."""

    reservations: list[Reservation] = []
    next_token: str | None = None


class Change(Struct, rename="pascal"):
    """What a verb did to an instance."""

    instance_id: str
    current_state: State


class Changes(Struct, rename="pascal"):
    """The answer to a verb. A reboot has none."""

    starting_instances: list[Change] = []
    stopping_instances: list[Change] = []
    terminating_instances: list[Change] = []

    def states(self) -> dict[str, str]:
        """The state of each instance after the call."""
        changes = [*self.starting_instances, *self.stopping_instances, *self.terminating_instances]
        return {change.instance_id: change.current_state.name for change in changes}


def labels(member: Member, owner: str) -> dict[str, str]:
    """The tags of what is made for a member. They come with it, in the call that makes it."""
    name = str(member.spec.get("name") or member.path.rpartition("/")[2])
    return {OWNER_TAG: owner, TOKEN_TAG: member.token, PATH_TAG: whole(member.path), NAME_TAG: name[:MAX_TAG_CHARS]}


def whole(path: str) -> str:
    """A path that fits into a tag; a part of one would be another one."""
    return path if len(path) <= MAX_TAG_CHARS else ""


def tagging(kind: str, tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """For a call that makes something of a kind, in EC2's words: its tags."""
    pairs = [{"Key": key, "Value": value} for key, value in tags.items() if value]
    return [{"ResourceType": kind, "Tags": pairs}]


def name_of(owner: str, token: str) -> str:
    """The only name that something with this token can have, where EC2 has no two of one name."""
    return f"stead-{hashlib.sha256(f'{owner}\0{token}'.encode()).hexdigest()[:24]}"


def client_token(token: str) -> str:
    """The member's token, in the form that EC2 takes."""
    if token.isascii() and 0 < len(token) <= MAX_CLIENT_TOKEN_CHARS:
        return token
    return hashlib.sha256(token.encode()).hexdigest()


def having(name: str, values: Iterable[str]) -> dict[str, Any]:
    """A filter for a list. Unlike a list of ids it does not fail where one of them is unknown."""
    return {"Name": name, "Values": list(values)}
