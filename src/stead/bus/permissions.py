"""On which subjects an agent may speak and listen: its own, and those of its lanes. All else is for controllers.

The server of the bus holds every connection to it, so a message on a subject is from somebody who may speak there.
What the server does not look at is where an answer is wanted: in one account with the streams, an agent could have
the server's own answer sent to the interface that deletes streams. So agents have an account of their own, with no
streams in it, which uses some services of the cell's account; an answer never leaves the account of whoever asked.
Nor may an agent make anything there, not even the way to its orders: whoever makes a consumer says where it delivers
to. Controllers make it, when they are asked to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from stead.bus.subjects import AGENT_REQUESTS, LANE_REQUESTS, Subjects, inbox

API = "$JS.API"


class SubjectPermissions(NamedTuple):
    """What somebody may do."""

    publish: tuple[str, ...]
    listen: tuple[str, ...]


@dataclass(frozen=True)
class Service:
    """A subject on which one account asks another. Answers find their way back, and go nowhere else."""

    subject: str
    known_as: str = ""
    """What the other account calls it, where that is not the same."""
    many: bool = False
    """Whether there may be more than one answer to a question."""


REPLIES = "_R_.>"
"""Where answers go that cross accounts: each to a subject with a random name, known to whoever was asked."""


def agent_permissions(cell: str, agent: str, lanes: Iterable[str], *, leaf: bool = False) -> SubjectPermissions:
    """What an agent may do. To answer whoever asks it is a right of its own: the asker says where.

    That right does not pass a leaf node, so whoever is behind one may speak wherever an answer could be wanted.
    """
    of = Subjects(cell)
    publish = [of.hello(agent), of.presence(agent), *(of.agent_request(kind, agent) for kind in AGENT_REQUESTS)]
    publish += [REPLIES] if leaf else []
    listen = [f"{inbox(agent)}.>"]
    for lane in lanes:
        stream, consumer = of.orders_stream(lane), of.consumer(lane)
        publish += [
            of.report(lane),
            f"{of.api}.CONSUMER.INFO.{stream}.{consumer}",
            f"{of.api}.CONSUMER.MSG.NEXT.{stream}.{consumer}",
            f"$JS.ACK.{stream}.{consumer}.>",
        ]
        listen += [of.lane_request(kind, lane) for kind in LANE_REQUESTS]
    return SubjectPermissions(tuple(publish), tuple(listen))


def services_for_agents(cell: str) -> list[Service]:
    """What the cell's account does for that of agents."""
    of = Subjects(cell)
    root = of.api.removesuffix(".js")
    kinds = ("report", "hello", "presence", *AGENT_REQUESTS)
    return [
        *(Service(f"{root}.{kind}.*") for kind in kinds),
        Service(f"{API}.CONSUMER.INFO.*.*", f"{of.api}.CONSUMER.INFO.$1.$2"),
        Service(f"{API}.CONSUMER.MSG.NEXT.*.*", f"{of.api}.CONSUMER.MSG.NEXT.$1.$2", many=True),
        *(Service(f"$JS.ACK.{stream}.>") for stream in of.orders_streams),
    ]


def services_of_agents(cell: str) -> list[Service]:
    """What the account of agents does for the cell's."""
    root = Subjects(cell).api.removesuffix(".js")
    return [Service(f"{root}.{kind}.*") for kind in LANE_REQUESTS]
