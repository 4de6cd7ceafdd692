"""What Nova says of a server, the lifecycle's words for it, and how what is ours is marked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import msgspec
from msgspec import Struct, field

from stead.drivers.base import TRANSITIONAL, Member
from stead.lifecycle.rows import ABSENT, BROKEN

OWNER = "stead-owner"
PATH = "stead-path"
TOKEN = "stead-token"
SPEC = "stead-spec"
"""A digest of the spec that it was made from."""

MAX_NAME_CHARS = 255
"""Characters in a value of a server's metadata, in a name, and in a description of Neutron's."""

RUNNING = "Running"
SUSPENDED = "Suspended"
AVAILABLE = "Available"
"""The lifecycle's word for what VMs share, where a VM runs."""

WORDS = {
    "ACTIVE": RUNNING,
    "VERIFY_RESIZE": RUNNING,
    "SHUTOFF": SUSPENDED,
    # Nobody here does the following. Who did so by hand has a server that does not run and keeps its disk, and
    # `resume` leads out of each.
    **dict.fromkeys(("SUSPENDED", "PAUSED", "SHELVED", "SHELVED_OFFLOADED"), SUSPENDED),
    **dict.fromkeys(("BUILD", "REBOOT", "HARD_REBOOT", "PASSWORD", "REBUILD", "RESIZE"), TRANSITIONAL),
    **dict.fromkeys(("REVERT_RESIZE", "MIGRATING"), TRANSITIONAL),
    # Nova cannot see that part of the cloud at the moment. That is no answer, and so nothing is reported.
    "UNKNOWN": TRANSITIONAL,
    "ERROR": BROKEN,
    "RESCUE": BROKEN,
    "DELETED": ABSENT,
    "SOFT_DELETED": ABSENT,
}
"""The lifecycle's words for the states of a server."""


class Server(Struct, frozen=True, kw_only=True):
    """As it is listed. Of what Nova cannot see at the moment it says no more than the id and `UNKNOWN`."""

    id: str
    status: str = "UNKNOWN"
    task: str | None = field(name="OS-EXT-STS:task_state", default=None)
    metadata: dict[str, str] = {}
    fault: dict[str, Any] = {}

    @property
    def word(self) -> str:
        """The lifecycle's word for it."""
        if self.task is not None and self.status not in ("DELETED", "SOFT_DELETED"):
            return TRANSITIONAL
        return WORDS.get(self.status, BROKEN)

    @property
    def going(self) -> bool:
        """Whether it is being deleted."""
        return self.task in ("deleting", "soft-deleting") or self.word == ABSENT

    @property
    def trouble(self) -> str:
        """Nova's own words for what is wrong with it."""
        return str(self.fault.get("message") or f"it is {self.status}")


class Link(Struct, frozen=True):
    """To the next page, among others."""

    rel: str
    href: str


class Page(Struct, frozen=True):
    """Of a list of servers."""

    servers: list[Server]
    servers_links: list[Link] = []


class One(Struct, frozen=True):
    """A server, as it is asked for by id."""

    server: Server


class Made(Struct, frozen=True):
    """The answer to a creation: no more than an id."""

    class Id(Struct, frozen=True):
        """Of the new server."""

        id: str

    server: Id


def next_page(links: list[Link]) -> dict[str, str]:
    """What to ask for the next page; nothing, if this was the last."""
    href = next((link.href for link in links if link.rel == "next"), "")
    return {name: values[-1] for name, values in parse_qs(urlsplit(href).query).items()}


def digest(spec: Mapping[str, Any]) -> str:
    """Tells one spec from another."""
    return hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).hexdigest()[:32]


def tag_of(owner: str, token: str) -> str:
    """The tag of the only server that a token can have. Nova finds servers by tag, and for users not by metadata."""
    return f"stead-{hashlib.sha256(f'{owner}\0{token}'.encode()).hexdigest()[:32]}"


def owner_tag(owner: str) -> str:
    """The tag of all that is ours."""
    return f"stead-owner-{owner}"


def name_of(member: Member) -> str:
    """What people see: the name in the spec, or the last part of the path."""
    return str(member.spec.get("name") or member.path.rpartition("/")[2] or member.token)[:MAX_NAME_CHARS]


def mark(owner: str, member: Member) -> str:
    """A description that says whose it is: the only field of Neutron's that is there from the first moment and that
    nobody else uses for anything."""
    whose = f"{owner} {quote(member.token, safe='')}"
    whole = f"stead {whose} {quote(member.path, safe='/')}"
    return whole if len(whole) <= MAX_NAME_CHARS else f"stead {whose}"


def marked(description: str) -> tuple[str, str, str]:
    """Owner, token and path from a description; nothing, where it is not one of ours."""
    match = re.fullmatch(r"stead (\S+) (\S+)(?: (\S+))?", description)
    if match is None:
        return "", "", ""
    owner, token, path = match.groups(default="")
    return owner, unquote(token), unquote(path)
