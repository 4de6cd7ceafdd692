"""The calendar as a picture for a terminal: a line for each host, columns of time, a letter for each lease."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from stead.cli.elapsed import span
from stead.cli.listing import printable
from stead.cli.server_commands import clock
from stead.client import Booking, Calendar, Host
from stead.lifecycle.rows import DAY, HOUR, MINUTE

LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits
OTHERS, MORE, FREE, FAILED = "#", "+", ".", "!"
"""Of a host that has a hidden lease, has a lease beyond the last letter, is free, or failed."""

COLOURS = ("green", "blue", "magenta", "cyan", "yellow", "bright_green", "bright_blue", "bright_magenta")
NARROWEST, WIDEST, LONGEST_NAME = 20, 180, 24
"""Columns of time at the least and at the most, and of a host's name."""

STEPS = (
    *(MINUTE * n for n in (1, 5, 15, 30)),
    *(HOUR * n for n in (1, 2, 3, 6, 12)),
    *(DAY * n for n in (1, 2, 7, 14, 28, 91)),
)
"""Between two times on the axis."""
LABEL = 5
GAP = 3

type Line = list[tuple[str, str]]
"""Pieces of a line, each with its style."""


@dataclass(frozen=True)
class Picture:
    """The lines of it, and what its letters mean."""

    head: str
    axis: str
    rows: list[Line]
    legend: list[tuple[str, ...]]
    """Of each letter: the lease, its status, and when."""
    notes: list[str]


def picture(calendar: Calendar, width: int) -> Picture:
    """A calendar in so many columns."""
    side = min(max((len(host.name) for host in calendar.hosts), default=4), LONGEST_NAME)
    columns = min(max(width - side - 2, NARROWEST), WIDEST)
    letters = lettered(calendar.booked)
    by_host = {name: list(some) for name, some in groupby(calendar.booked, key=lambda one: one.host)}
    rows: list[Line] = []
    for host in calendar.hosts:
        cells = _cells(calendar, host, by_host.get(host.name, ()), letters, columns)
        shown = [("".join(run), _style(letter)) for letter, run in groupby(cells)]
        rows.append([(f"{printable(host.name)[:side]:<{side}}  ", ""), *shown])
    lasts = (calendar.end - calendar.start).total_seconds()
    return Picture(
        head=f"{clock(calendar.start)} to {clock(calendar.end)}, {span(lasts / columns)} a column",
        axis=" " * (side + 2) + _axis(calendar.start, calendar.end, columns),
        rows=rows,
        legend=_legend(calendar, letters),
        notes=_notes(calendar, letters),
    )


def lettered(booked: Sequence[Booking]) -> dict[str, str]:
    """By lease its letter, in the order in which they begin."""
    first = {one.lease: one.start for one in sorted(booked, key=lambda one: one.start, reverse=True) if one.lease}
    known = sorted(first, key=lambda lease: (first[lease], lease))
    letters = {lease: LETTERS[place] if place < len(LETTERS) else MORE for place, lease in enumerate(known)}
    return {**letters, "": OTHERS}


def _cells(
    calendar: Calendar, host: Host, booked: Sequence[Booking], letters: Mapping[str, str], columns: int
) -> list[str]:
    """A letter for each column: of the lease that has the host for most of that time, if one has."""
    each = (calendar.end - calendar.start) / columns
    cells = []
    for column in range(columns):
        begins = calendar.start + each * column
        ends = begins + each
        shares = [(min(one.end, ends) - max(one.start, begins), letters[one.lease]) for one in booked]
        most = max((share for share in shares if share[0] > timedelta()), default=None)
        cells.append(most[1] if most is not None else FREE if host.healthy else FAILED)
    return cells


def _style(letter: str) -> str:
    if letter in LETTERS:
        return f"black on {COLOURS[LETTERS.index(letter) % len(COLOURS)]}"
    return {FREE: "bright_black", FAILED: "bold red"}.get(letter, "black on white")


def _axis(start: datetime, end: datetime, columns: int) -> str:
    """Times, in UTC, each above the column in which it begins; days by their date."""
    each = (end - start).total_seconds() / columns
    step = next((step for step in STEPS if step / each >= LABEL + GAP), STEPS[-1])
    axis = [" "] * columns
    first = -(-start.timestamp() // step) * step
    free = 0
    for number in range(columns):
        at = first + number * step
        column = int((at - start.timestamp()) / each)
        if column + LABEL > columns:
            break
        if column >= free:
            time = datetime.fromtimestamp(at, UTC)
            axis[column : column + LABEL] = time.strftime("%m-%d" if at % DAY == 0 else "%H:%M")
            free = column + LABEL + 1
    return "".join(axis).rstrip()


def _legend(calendar: Calendar, letters: Mapping[str, str]) -> list[tuple[str, ...]]:
    rows = []
    for lease, letter in letters.items():
        if lease and letter != MORE:
            its = [one for one in calendar.booked if one.lease == lease]
            times = min(one.start for one in its), max(one.end for one in its)
            rows.append((letter, lease, its[0].status, *map(clock, times)))
    return rows


def _notes(calendar: Calendar, letters: Mapping[str, str]) -> list[str]:
    said = [
        f"{FAILED}  {host.name} failed{f': {host.reason}' if host.reason else ''}"
        for host in calendar.hosts
        if not host.healthy
    ]
    if more := list(letters.values()).count(MORE):
        said.append(f"{MORE}  {more} more leases")
    if any(not one.lease for one in calendar.booked):
        said.append(f"{OTHERS}  leases that you may not see")
    return [printable(one) for one in said]
