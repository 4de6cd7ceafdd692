"""One instant of the explored world: what the store believes, what is true, who is at work, what is in flight.

A world is a flat tuple of small hashable things, because there are hundreds of thousands of them. Fences are
relative: a word is either under the current fence or under an old one, and old ones are all alike, so the number of
resends is unbounded and the number of worlds is not. What may still go wrong is kept beside the world: a world
reached with more of it covers the same world reached with less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far the search goes. Losses, reorderings and timers are not bounded at all."""

    in_flight: int = 3
    """Messages under way at once."""
    requests: int = 1
    """Requests other than the delete."""
    deletes: int = 1
    crashes: int = 2
    """Of the controller between commit and acknowledgement, or of an agent."""
    repeats: int = 1
    """Messages delivered twice by the channel."""
    late: int = 1
    """Agents that are stopped and act after their custody has ended."""
    agents: int = 2


class Message(NamedTuple):
    """Something in flight."""

    kind: str
    """`order`, one of an agent's reports (`started`, `succeeded`, `failed`, `observed`), `full`,
    `hello` or `takeover`."""
    what: str
    """The verb of an order; what was seen; for presence `agent` or `successor`."""
    number: int
    """The revision of the spec that was ordered or seen; for presence the notify-id."""


class Job(NamedTuple):
    """An order that an agent has taken."""

    verb: str
    revision: int
    stage: str
    """`taken`, `done` (the deed is done, nothing said), `failed` (it could not be done, nothing said)."""
    current: bool
    asleep: bool


class Budget(NamedTuple):
    """What may still go wrong, and what may still be asked for."""

    requests: int
    deletes: int
    crashes: int
    repeats: int
    late: int

    def covers(self, other: Budget) -> bool:
        """Whether everything that may happen under the other may happen under this one."""
        return all(mine >= theirs for mine, theirs in zip(self, other, strict=True))


class World(NamedTuple):
    """One instant."""

    snap: int
    """Number of the snapshot in the machine's table."""
    truth: str
    """What the provider has."""
    revision: int
    """Of the spec that is in force there."""
    channel: tuple[Message, ...]
    """What is in flight under the current fence; old words are judged by the machine, in every snapshot."""
    jobs: tuple[Job, ...]
    asked: bool
    """The children were asked for something and have not all answered."""
    site: tuple[int, int, int]
    """Presence: the notify-ids of the old and the new agent while they live (else 0), and the last id given."""
    claimed: int
    disturbed: bool = False
    """An agent acted after its custody had ended, or nobody could say: belief may be wrong until somebody looks."""
