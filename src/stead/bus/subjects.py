"""Where each kind of word goes: the subjects, streams and consumers of one cell.

A name (of a cell, a lane, an agent) is one token of a subject, so that no name can reach into another's subjects:
letters, digits, `-` and `_` stay, a dot becomes `~`, and every other byte becomes `=` and two hexadecimal digits. So
`aws.us-east-1` is `aws~us-east-1`, readable in any tool, and can be turned back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

MAX_TOKEN_CHARS = 100
"""Characters of one token; the name of a consumer has up to two of them, and the server takes 255."""

_OTHER = re.compile(rb"[^A-Za-z0-9_.-]")
_ESCAPED = re.compile(rb"=([0-9A-F]{2})")


@lru_cache(maxsize=50_000)
def to_token(name: str) -> str:
    """A name as one token of a subject."""
    escaped = _OTHER.sub(lambda found: b"=%02X" % ord(found[0]), name.encode())
    token = escaped.replace(b".", b"~").decode()
    if not token or len(token) > MAX_TOKEN_CHARS:
        raise ValueError(f"{name!r} cannot be a name on the bus: it is empty or too long")
    return token


def from_token(token: str) -> str:
    """The name that a token stands for."""
    try:
        name = _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), token.replace("~", ".").encode()).decode()
        if to_token(name) == token:
            return name
    except ValueError:
        pass
    raise ValueError(f"{token!r} stands for no name")


INBOX = "_INBOX_"
"""How the inboxes of agents begin; each has a name of its own, so that none can listen to another's."""

AGENT_REQUESTS = ("take-custody", "renew-custody", "inventory", "open-lane", "site", "renew-identity")
"""Kinds of requests from agents to controllers."""

LANE_REQUESTS = ("probe", "offers", "logs", "state-sync")
"""Kinds of requests from controllers about a lane."""

SHARDS = 32
"""Streams that the lanes of a cell are spread over. The server looks at every consumer of a stream for each message
that is acknowledged; so ten thousand lanes cost what some hundred do."""


@dataclass(frozen=True, slots=True)
class Recipient:
    """One run of one agent, as opposed to whoever serves a lane."""

    agent: str
    epoch: int


class Subjects:
    """The subjects and names of one cell."""

    def __init__(self, cell: str) -> None:
        token = to_token(cell)
        self._root = f"stead.{token}"
        self.orders_streams = {
            f"STEAD-{token}-ORDERS-{shard}": f"{self._root}.order.{shard}.>" for shard in range(SHARDS)
        }
        """By name, what each of them takes."""
        self.reports_stream = f"STEAD-{token}-REPORTS"
        self.all_orders = [f"{self._root}.order.>"]
        self.all_reports = [f"{self._root}.report.*", f"{self._root}.hello.*"]
        self.wakeup = f"{self._root}.wakeup"
        self.presences = f"{self._root}.presence.*"
        self.api = f"{self._root}.js"
        """How agents that have an account of their own call JetStream's interface, as far as they may use it."""

    def order(self, lane: str, to: Recipient | None = None) -> str:
        """Orders for whoever serves the lane, or for one run of one agent only."""
        shared = f"{self._root}.order.{_shard(lane)}.{to_token(lane)}"
        return shared if to is None else f"{shared}.{to_token(to.agent)}.{to.epoch}"

    def orders_stream(self, lane: str) -> str:
        """The stream of a lane's orders."""
        return list(self.orders_streams)[_shard(lane)]

    def report(self, lane: str) -> str:
        return f"{self._root}.report.{to_token(lane)}"

    def hello(self, agent: str) -> str:
        return f"{self._root}.hello.{to_token(agent)}"

    def presence(self, agent: str) -> str:
        return f"{self._root}.presence.{to_token(agent)}"

    def agent_request(self, kind: str, agent: str) -> str:
        """Where an agent asks controllers, one of `AGENT_REQUESTS`."""
        return f"{self._root}.{kind}.{to_token(agent)}"

    def agent_requests(self, kind: str) -> str:
        """Where controllers hear what any agent asks."""
        return f"{self._root}.{kind}.*"

    def lane_request(self, kind: str, lane: str) -> str:
        """Where controllers ask an agent that serves a lane, one of `LANE_REQUESTS`."""
        return f"{self._root}.{kind}.{to_token(lane)}"

    def consumer(self, lane: str, to: Recipient | None = None) -> str:
        """The name of the consumer of `order` with the same arguments; `+` is in no token."""
        return to_token(lane) if to is None else f"{to_token(lane)}+{to_token(to.agent)}+{to.epoch}"

    def lane(self, subject: str) -> str:
        """The lane of an order's or a report's subject."""
        if subject.startswith(f"{self._root}."):
            match subject.removeprefix(f"{self._root}.").split("."):
                case ["report", lane, *_] | ["order", _, lane, *_]:
                    return from_token(lane)
        raise ValueError(f"{subject!r} is of no lane of this cell")


def inbox(agent: str) -> str:
    """Below which an agent gets answers, and nobody else's are sent."""
    return f"{INBOX}{to_token(agent)}"


IMPORTED_REPLIES = "_R_."
"""How a place for an answer begins that leads back to another account. Only the server of the bus can name one."""


def is_reply_subject(agent: str, where: str) -> bool:
    """Whether an agent may have an answer sent there: to its own inbox, or to where the server of the bus says."""
    return where.startswith((f"{inbox(agent)}.", IMPORTED_REPLIES))


def _shard(lane: str) -> int:
    return crc32(lane.encode()) % SHARDS
