"""What something wrote at the place where it is: asked of whoever serves its lane, and kept nowhere else."""

from __future__ import annotations

from dataclasses import dataclass

from stead.application.reader import Reader
from stead.controller.observation.observer import ProviderObserver, UnknownReason
from stead.schema import Model

TIMEOUT_SECONDS = 10.0
"""Seconds for an answer, since somebody waits for it."""


@dataclass(frozen=True)
class Log(Model):
    """The end of what a resource wrote."""

    path: str
    lines: tuple[str, ...]
    """The oldest first."""
    position: str
    """For `since`, to go on from here."""
    omitted: int = 0
    """Older lines among those requested that have no room in the answer."""


@dataclass(frozen=True)
class LogUnavailable:
    """Nobody can say what it wrote."""

    says: str
    away: bool = False
    """Because nobody answers now; another time somebody may."""


async def written(
    reader: Reader, looks: ProviderObserver | None, path: str, lines: int, since: str
) -> Log | LogUnavailable | None:
    """The last lines, or those of them after a position; None where there is no such resource."""
    row = await reader.store.resources.read(path)
    if row is None:
        return None
    told = UnknownReason.UNASKED if looks is None else await looks.logs(row, lines, since, TIMEOUT_SECONDS)
    if told is UnknownReason.NO_AGENT:
        return LogUnavailable(f"nobody who serves the lane {row.lane} answers: its agent is away", away=True)
    if isinstance(told, UnknownReason):
        return LogUnavailable(f"a {row.kind} has no place of its own where it could write anything")
    if not told.supported:
        return LogUnavailable(f"on the lane {row.lane} nobody keeps what is written")
    if told.error:
        return LogUnavailable(told.error, away=True)
    return Log(path, tuple(told.lines), told.position, told.omitted)
