"""What each verb does to an instance on EC2, and what it means when EC2 refuses to do it."""

from __future__ import annotations

from msgspec import Struct

from stead.drivers.base import Member, Result
from stead.drivers.ec2.wire import TERMINATING, WORDS, Instance
from stead.lifecycle.rows import ABSENT


class Verb(Struct, frozen=True, kw_only=True):
    """One call of EC2's that takes many instances."""

    call: str
    from_: frozenset[str]
    """The states in which an instance takes it."""
    way: str = ""
    """The state on the way to the end."""
    end: str = ""
    """The state it leads to. None: it is done as often as it is asked for."""


VERBS = {
    "suspend": Verb(call="stop_instances", from_=frozenset({"running"}), way="stopping", end="stopped"),
    "resume": Verb(call="start_instances", from_=frozenset({"stopped"}), way="pending", end="running"),
    "reboot": Verb(call="reboot_instances", from_=frozenset({"running"})),
    "terminate": Verb(
        call="terminate_instances",
        from_=frozenset({"pending", "running", "stopping", "stopped"}),
        way="shutting-down",
        end="terminated",
    ),
}


GONE = "it was made, and has been removed since"
"""Its token is spent: whoever removed it meant this very creation."""


def accepted(verb: Verb, member: Member, id: str, state: str) -> Result:
    """EC2 did it, or there was nothing to do."""
    pending = WORDS[verb.end] if verb.end and state != verb.end else ""
    return Result(path=member.path, ok=True, pending=pending, facts={"id": id})


def refused(member: Member, id: str, error: str, *, permanent: bool = True) -> Result:
    """EC2 did not do it to this one."""
    return Result(path=member.path, ok=False, facts={"id": id} if id else {}, error=error, permanent=permanent)


def missing(verb: Verb, member: Member) -> Result:
    """EC2 does not have it.

    What was made a moment ago may not be shown yet; so whoever terminates is asked to look once more.
    """
    if verb.end == "terminated":
        return Result(path=member.path, ok=True, pending=ABSENT)
    return refused(member, "", "InvalidInstanceID.NotFound: the provider does not have it")


def settled(verb: Verb, member: Member, instance: Instance | None) -> Result | None:
    """What can be said of a member without a call, now that it was looked at; nothing, if it is ready for one."""
    if instance is None:
        return missing(verb, member)
    id, state = instance.instance_id, instance.state.name
    if verb.end and state in (verb.way, verb.end):
        return accepted(verb, member, id, state)
    if state in verb.from_:
        return None
    # What is on its way may be ready for the verb when it has arrived.
    again = state in ("pending", "stopping")
    return refused(member, id, f"IncorrectInstanceState: it is {state}", permanent=not again)


def launched(member: Member, instance: Instance) -> Result:
    """EC2 made it, now or in an earlier call."""
    id, state = instance.instance_id, instance.state.name
    if state in TERMINATING:
        return refused(member, id, GONE)
    if state not in WORDS:
        return refused(member, id, f"it was made, and is {state}")
    return Result(path=member.path, ok=True, pending="" if state == "running" else "Running", facts={"id": id})
