"""The chain of hashes of the journal, reckoned from the lines themselves: whether they are as they were written.

The hash of a line is the SHA-256 of the hash of the line before, in 32 bytes, followed by the line's own bytes. So
whoever changes, removes or puts in a line has to change all hashes after it, the last one included.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec


class BrokenChain(Exception):
    """The journal is not as it was written."""

    def __init__(self, position: int, says: str) -> None:
        super().__init__(f"position {position}: {says}")
        self.position = position
        """The first one that is not right."""
        self.says = says


class ExportedLine(msgspec.Struct, frozen=True):
    """A line as it is exported. What was hashed are the bytes of `line`, as they came."""

    line: msgspec.Raw
    hash: str | None = None
    times: int = 1


class LinePosition(msgspec.Struct, frozen=True):
    """Of a line, what says where it stands."""

    position: int
    at: str


_entry = msgspec.json.Decoder(ExportedLine)
_place = msgspec.json.Decoder(LinePosition)


@dataclass(frozen=True, slots=True)
class ChainedLine:
    """A line of the journal, and the hash that it is said to have."""

    position: int
    at: str
    hash: bytes | None
    text: bytes

    @classmethod
    def read(cls, raw: bytes) -> ChainedLine:
        """A line as it is exported. Raises `ValueError` where it is none."""
        entry = _entry.decode(raw)
        text = bytes(entry.line)
        place = _place.decode(text)
        return cls(place.position, place.at, bytes.fromhex(entry.hash) if entry.hash is not None else None, text)


def genesis(after: int) -> bytes:
    """What stands for all that was before the first line that has a hash."""
    return hashlib.sha256(f"stead journal after {after}".encode()).digest()


def link(before: bytes, text: bytes) -> bytes:
    """The hash of a line."""
    return hashlib.sha256(before + text).digest()


class JournalChain:
    """Goes from line to line. Raises `BrokenChain` at the first that is not right."""

    def __init__(self, after: int = 0, hash: bytes | None = None, known: Mapping[int, bytes] | None = None) -> None:
        """From after a position on, whose line has that hash, or none where it was numbered before there were any.

        `known` are hashes that somebody has kept of some positions.
        """
        self.first = after + 1
        self.position = after
        self.hash = hash
        self.lines = 0
        """How many there were."""
        self.without = 0
        """How many of them have no hash."""
        self.leaps: list[tuple[int, int]] = []
        """Between which positions there are none: a backup was restored there, or all after it was written anew."""
        self._known = dict(known or {})
        self._compare()

    def add(self, line: ChainedLine) -> None:
        """The next line."""
        self._stands(line.position)
        if line.hash is not None:
            before = self.hash if self.hash is not None else genesis(self.position)
            if line.hash != link(before, line.text):
                self._follows(line.position)
                says = "this is not the line that was written here: it was changed, or another is in its place"
                raise BrokenChain(line.position, says)
        elif self.hash is not None:
            raise BrokenChain(line.position, "this line has no hash: it was put in, or its hash was taken away")
        else:
            self._follows(line.position)
            self.without += 1
        self._leap(line.position)
        self.position, self.hash = line.position, line.hash
        self.lines += 1
        self._compare()

    def _stands(self, position: int) -> None:
        if self.lines and position == self.position:
            raise BrokenChain(position, "there are two lines at this position: one was put in")
        if position <= self.position:
            raise BrokenChain(position, f"this line comes after the one at {self.position}: it was put in, or moved")

    def _follows(self, position: int) -> None:
        """Positions leap where a backup was restored; the hash of the line after that follows all the same."""
        if position > self.position + 1:
            raise BrokenChain(self.position + 1, f"{_missing(self.position + 1, position - 1)}: removed")

    def _leap(self, position: int) -> None:
        """Note it, if it is one; nobody can have kept a hash of a position within: there was a line then."""
        if position == self.position + 1:
            return
        lost = [known for known in self._known if self.position < known < position]
        if lost:
            missing = _missing(self.position + 1, max(lost))
            raise BrokenChain(self.position + 1, f"{missing}: removed, or a backup from before was restored")
        self.leaps.append((self.position, position))

    def _compare(self) -> None:
        kept = self._known.pop(self.position, None)
        if kept is not None and kept != self.hash:
            says = "the hash is not the one that was kept: this line, or some before it, were written anew"
            raise BrokenChain(self.position, says)

    def end(self) -> None:
        """There are no more lines: all positions that are known must have come."""
        beyond = [position for position in self._known if position > self.position]
        if beyond:
            raise BrokenChain(self.position + 1, f"{_missing(self.position + 1, max(beyond))}: the end was cut off")

    @property
    def unseen(self) -> list[int]:
        """Positions whose hashes are known, and that were before the beginning."""
        return [position for position in self._known if position < self.first - 1]


def _missing(first: int, last: int) -> str:
    return f"the lines {first} to {last} are missing" if last > first else f"the line {first} is missing"
