"""What an app wrote, read from the files in which its keeper keeps it.

A position is a file and a place in it. The file is known by its number on the disk, which stays with it when it gets
another name; so whoever follows loses nothing when a new file is begun.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from stead.drivers.base import LogTail
from stead.drivers.process.folders import App

MAX_BYTES = 2**20
"""Bytes that are read of one file."""


class Piece(Struct, frozen=True):
    """What is in one file, or in the end of it."""

    number: int
    """Of the file."""
    begins: int
    text: bytes


def tail(app: App, lines: int, since: str = "") -> LogTail:
    """The last lines; with a position, of those that came after it, if it is still known."""
    pieces = [piece for name in ("log", *(f"log.{n}" for n in range(1, 10))) if (piece := _read(app.folder / name))]
    if not pieces:
        return LogTail(position=since)
    newest = pieces[0]
    number, _, offset = since.partition(":")
    at = next((index for index, piece in enumerate(pieces) if str(piece.number) == number), None)
    if at is not None and offset.isdecimal():
        first = pieces[at]
        rest = first.text[max(0, int(offset) - first.begins) :]
        text = b"".join([rest, *(piece.text for piece in reversed(pieces[:at]))])
    else:
        text = b"".join(piece.text for piece in reversed(pieces))
    found = text.decode(errors="replace").splitlines()
    return LogTail(lines=found[-lines:], position=f"{newest.number}:{newest.begins + len(newest.text)}")


def together(
    places: Mapping[int, App], tail: Callable[[App, int, str], LogTail], lines: int, since: str, *, named: bool
) -> LogTail:
    """What several wrote, by their numbers. Who wrote last comes last; who wrote most is cut first."""
    positions = dict(word.split("=", 1) for word in since.split(" ") if "=" in word)
    tails = {number: tail(place, lines, positions.get(str(number), "")) for number, place in places.items()}
    most = lines
    while most > 1 and sum(min(len(one.lines), most) for one in tails.values()) > lines:
        most -= 1
    told: list[str] = []
    for number in sorted(tails, key=lambda number: (_written(places[number], tails[number]), number)):
        told += [f"{number}: {line}" if named else line for line in tails[number].lines[-most:]]
    position = " ".join(f"{number}={one.position}" for number, one in tails.items())
    return LogTail(lines=told[-lines:], position=position)


def _written(place: App, tail: LogTail) -> str:
    """When something was written last, in words that can be compared."""
    try:
        return f"{place.log.stat().st_mtime_ns:020}"
    except FileNotFoundError:
        return tail.position  # a time, where nobody of ours keeps what is written


def _read(file: Path) -> Piece | None:
    try:
        with file.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            begins = log.seek(max(0, size - MAX_BYTES))
            return Piece(os.fstat(log.fileno()).st_ino, begins, log.read(MAX_BYTES))
    except FileNotFoundError:
        return None
