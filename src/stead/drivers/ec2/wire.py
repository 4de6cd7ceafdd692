"""What EC2's answers say, as far as we read them, and what is asked of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from stead.drivers.base import MOVING, Member
from stead.lifecycle.rows import ABSENT

OWNER_TAG = "stead:owner"
PATH_TAG = "stead:path"
TOKEN_TAG = "stead:token"

LONGEST_TAG = 256
LONGEST_CLIENT_TOKEN = 64

GOING = ("shutting-down", "terminated")
WORDS = {
    "pending": MOVING,
    "running": "Running",
    "stopping": MOVING,
    "stopped": "Suspended",
    "shutting-down": MOVING,
    "terminated": ABSENT,
}
"""The lifecycle's words for the states of an instance."""


class State(Struct, rename="pascal"):
    """Of an instance."""

    name: str


class Tag(Struct, rename="pascal"):
    """Of an instance."""

    key: str
    value: str = ""


class Instance(Struct, rename="pascal"):
    """As it is listed."""

    instance_id: str
    state: State
    tags: list[Tag] = []

    def tag(self, key: str) -> str:
        """Its value, or nothing."""
        return next((tag.value for tag in self.tags if tag.key == key), "")


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


def launch(member: Member, owner: str) -> dict[str, Any]:
    """The parameters of the launch of one member: the same in every attempt, or EC2 refuses the second.

    Raises `ValueError` where the spec lacks something.
    """
    spec = member.spec
    if missing := [field for field in ("image", "spec") if not spec.get(field)]:
        raise ValueError(f"the spec lacks {' and '.join(missing)}")
    tags = {
        OWNER_TAG: owner,
        TOKEN_TAG: member.token,
        PATH_TAG: member.path if len(member.path) <= LONGEST_TAG else "",
        "Name": str(spec.get("name") or member.path.rpartition("/")[2])[:LONGEST_TAG],
    }
    groups = spec.get("securitygroups") or []
    asked = {
        "ImageId": spec["image"],
        "InstanceType": spec["spec"],
        "SubnetId": spec.get("subnet"),
        "SecurityGroupIds": groups.split(",") if isinstance(groups, str) else list(groups),
        "KeyName": spec.get("sshkey"),
    }
    return {
        "MinCount": 1,
        "MaxCount": 1,
        "ClientToken": client_token(member.token),
        "TagSpecifications": [{"ResourceType": "instance", "Tags": _pairs(tags)}],
        **{name: value for name, value in asked.items() if value},
    }


def client_token(token: str) -> str:
    """The member's token, in the form that EC2 takes."""
    if token.isascii() and 0 < len(token) <= LONGEST_CLIENT_TOKEN:
        return token
    return hashlib.sha256(token.encode()).hexdigest()


def having(name: str, values: Iterable[str]) -> dict[str, Any]:
    """A filter for a list of instances. Unlike a list of ids it does not fail where one of them is unknown."""
    return {"Name": name, "Values": list(values)}


def _pairs(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items() if value]
