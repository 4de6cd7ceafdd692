"""What can go wrong on the bus, in two kinds: what may pass if one tries again, and what never will.

Nobody outside this package needs to know the exceptions of the client library: they are translated here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import nats.errors


class BusError(Exception):
    """All that the bus raises."""

    passing = False
    """Whether the same call may succeed later."""


class Unavailable(BusError):
    """There is no connection, or the server cannot do it now. Nothing was promised; try again."""

    passing = True


class NoAnswer(Unavailable, TimeoutError):
    """Nobody answered in time. Whether the words arrived is not known; try again."""


class NotPublished(BusError):
    """Some of a list of orders were not acknowledged; the others were."""

    passing = True

    def __init__(self, published: Mapping[int, bool], failed: Mapping[int, BusError]) -> None:
        """Both by the index in the list; for a published one, whether the server called it a duplicate."""
        reasons = sorted({str(error) for error in failed.values()})
        super().__init__(
            f"{len(failed)} of {len(failed) + len(published)} orders not published: {'; '.join(reasons)}"
        )
        self.published = published
        self.failed = failed


class TooLarge(BusError):
    """The message is larger than the server takes. It has to be made of smaller parts."""


class BadMessage(BusError, ValueError):
    """These bytes are not a message that this version knows, or cannot be made into one."""


class UnknownVersion(BadMessage):
    """The message is of another major version; somebody else may understand it."""


class WrongStream(BusError):
    """A stream of this name exists and cannot be made into what the bus needs. A person has to look."""


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Raise as one of ours whatever the client library raises in this block."""
    try:
        yield
    except nats.errors.MaxPayloadError as error:
        raise TooLarge(f"{what}: {error}") from error
    except nats.errors.TimeoutError as error:
        raise NoAnswer(f"{what}: no answer in time") from error
    except (nats.errors.Error, OSError) as error:
        raise Unavailable(f"{what}: {error}") from error
