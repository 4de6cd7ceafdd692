"""What each verb asks of Nova in each state of a server, and what it means when Nova refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from stead.drivers.base import TRANSITIONAL, Member, Result
from stead.drivers.openstack.wire import RUNNING, SUSPENDED, Server
from stead.lifecycle.rows import ABSENT


class Verb(Struct, frozen=True, kw_only=True):
    """One thing that is done to a server."""

    actions: Mapping[str, Mapping[str, Any]]
    """What to ask for, by the status of the server. In every other status there is nothing that would help."""
    end: str
    """What a look shows when it is done."""
    repeats: bool = False
    """It is done as often as it is asked for."""


VERBS = {
    "suspend": Verb(actions={"ACTIVE": {"os-stop": None}, "VERIFY_RESIZE": {"os-stop": None}}, end=SUSPENDED),
    "resume": Verb(
        actions={
            "SHUTOFF": {"os-start": None},
            "SUSPENDED": {"resume": None},
            "PAUSED": {"unpause": None},
            "SHELVED": {"unshelve": None},
            "SHELVED_OFFLOADED": {"unshelve": None},
        },
        end=RUNNING,
    ),
    "reboot": Verb(actions={"ACTIVE": {"reboot": {"type": "SOFT"}}}, end=RUNNING, repeats=True),
}
"""All but `create`, and `terminate`, which Nova takes in every state."""

ENDING = {"powering-off": SUSPENDED, "powering-on": RUNNING, "resuming": RUNNING, "unpausing": RUNNING}
"""Where a server is being led to, by its task."""

REMOVED = "it was made, and has been removed since"
NOT_THERE = "the provider does not have it"


def settled(verb: Verb, member: Member, server: Server | None) -> Result | None:
    """What can be said without asking Nova for anything; nothing, if the server is ready for the verb."""
    if server is None or server.going:
        return failed(member, "" if server is None else server.id, NOT_THERE)
    if not verb.repeats and ENDING.get(server.task or "", server.word) == verb.end:
        return accepted(member, server.id, "" if server.word == verb.end else verb.end)
    if server.word == TRANSITIONAL:
        # What is on its way may be ready for the verb when it has arrived.
        return failed(member, server.id, f"it is {server.task or server.status}", permanent=False)
    if server.status not in verb.actions:
        return failed(member, server.id, f"it is {server.status}")
    return None


def made(member: Member, server: Server, spec: str) -> Result:
    """It is there, from now or from an earlier call; `spec` is the digest of what it was made of."""
    if server.going:
        # Its token is spent: whoever removed it meant this very creation.
        return failed(member, server.id, REMOVED)
    if spec and server.metadata and server.metadata.get("stead-spec") != spec:
        return failed(member, server.id, "its token was used for another spec")
    if server.status == "ERROR":
        return failed(member, server.id, f"it was made, and is broken: {server.trouble}")
    return accepted(member, server.id, "" if server.word == RUNNING else RUNNING)


def accepted(member: Member, id: str, pending: str) -> Result:
    """It is done, or will be when a look shows what is pending."""
    return Result(path=member.path, ok=True, pending=pending, facts={"id": id})


def failed(member: Member, id: str, error: str, *, permanent: bool = True) -> Result:
    """It was not done to this one."""
    return Result(path=member.path, ok=False, facts={"id": id} if id else {}, error=error, permanent=permanent)


def gone(member: Member) -> Result:
    """There is nothing to remove. What was made a moment ago may not be shown yet; so a look is to follow."""
    return Result(path=member.path, ok=True, pending=ABSENT)
