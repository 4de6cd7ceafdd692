"""Files of the journal: lines as they were hashed, of which each file says after which it begins.

The first line of a file is its heading, with the position and the hash that it goes on from. All others are lines of
the journal. A file is written in order and never changed; one that was not finished is gone on with where its last
whole line ends.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from stead.client.journal_chain import BrokenChain, ChainedLine, JournalChain

LINES = 100_000
"""Lines in a file."""


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """What a file goes on from."""

    stead: str = "journal"
    version: int = 1
    after: int
    previous: str | None
    """The hash of the line at that position; null where it has none."""

    @property
    def hash(self) -> bytes | None:
        """The same, in bytes."""
        return bytes.fromhex(self.previous) if self.previous is not None else None


class JournalFileError(Exception):
    """It is no file of the journal, or not a whole one."""


def name_of(after: int) -> str:
    """The file that begins after a position; names are in the order of what is in them."""
    return f"journal-{after + 1:012d}.jsonl"


def files_in(folder: Path) -> list[Path]:
    """The files of the journal in a folder, in order."""
    return sorted(folder.glob("journal-*.jsonl"))


def heading_of(file: Path) -> Heading:
    """What a file goes on from. Raises `JournalFileError`."""
    with file.open("rb") as opened:
        return _heading(file, opened.readline())


def _heading(file: Path, raw: bytes) -> Heading:
    try:
        heading = msgspec.json.decode(raw, type=Heading)
        heading.hash  # noqa: B018 - it is one, or raises
    except ValueError as error:
        raise JournalFileError(f"{file} does not begin as a file of the journal does") from error
    if heading.stead != "journal" or heading.version != 1:
        raise JournalFileError(f"{file} is no file of the journal that this version can read")
    return heading


def lines_of(file: Path) -> Iterator[ChainedLine]:
    """The lines of a file. Raises `JournalFileError` where one is none."""
    with file.open("rb") as opened:
        _heading(file, opened.readline())
        for number, raw in enumerate(opened, 2):
            try:
                if not raw.endswith(b"\n"):
                    raise ValueError("it does not end")
                yield ChainedLine.read(raw)
            except ValueError as error:
                raise JournalFileError(f"{file}, line {number}: this is no whole line of the journal") from error


def go_over(files: Iterable[Path], known: Mapping[int, bytes] | None = None) -> JournalChain:
    """Go over files in the order of their positions; the chain at their end.

    Raises `Broken` at the first line that is not right, and `NoTrail`.
    """
    chain: JournalChain | None = None
    for heading, file in sorted(((heading_of(file), file) for file in files), key=lambda found: found[0].after):
        if chain is None:
            chain = JournalChain(heading.after, heading.hash, known)
        if heading.after > chain.position:
            says = f"{file} begins after {heading.after}: what is in between is in none of the files"
            raise BrokenChain(chain.position + 1, says)
        if heading.after < chain.position:
            raise BrokenChain(heading.after + 1, f"{file} begins with what is in another file, too")
        if heading.hash != chain.hash:
            raise BrokenChain(chain.position, f"{file} goes on from another hash than the lines before it end with")
        for line in lines_of(file):
            chain.add(line)
    if chain is None:
        raise JournalFileError("there is no file of the journal")
    return chain


def check_file(file: Path, sha256: str) -> None:
    """Raise `JournalFileError` where a file is not the one that was archived."""
    try:
        with file.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
    except FileNotFoundError:
        raise JournalFileError(f"{file} is missing: it was archived") from None
    if found != sha256:
        raise JournalFileError(f"{file} is not the file that was archived: its SHA-256 is {found}, and was {sha256}")


class JournalFile:
    """Writes lines to files of a folder, one after the other, and looks at each before."""

    def __init__(self, folder: Path, most: int = LINES) -> None:
        self.folder = folder
        self.most = most
        self.chain: JournalChain | None = None
        self._room = 0
        self._opened: BinaryIO | None = None

    def resume(self) -> JournalChain | None:
        """Go on with the last file there is; the chain at its end. Raises `BrokenChain` and `JournalFileError`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        files = files_in(self.folder)
        while files and not _whole(files[-1]):
            files.pop().unlink()  # not even its heading was written
        if not files:
            return None
        heading = heading_of(files[-1])
        chain = JournalChain(heading.after, heading.hash)
        for line in lines_of(files[-1]):
            chain.add(line)
        self.chain, self._room = chain, self.most - chain.lines
        self._opened = files[-1].open("ab")
        return chain

    def begin(self, chain: JournalChain) -> JournalChain:
        """Write what comes after a position."""
        self.chain = chain
        return chain

    def add(self, page: Iterable[bytes]) -> None:
        """Write lines."""
        assert self.chain is not None
        for raw in page:
            line = ChainedLine.read(raw)
            if self._opened is None or self._room <= 0:
                self._next(self.chain)
            assert self._opened is not None
            self.chain.add(line)
            self._opened.write(raw + b"\n")
            self._room -= 1

    def _next(self, chain: JournalChain) -> None:
        self.close()
        self.open(self.folder / name_of(chain.position))

    def open(self, file: Path) -> None:
        """Begin a file, and replace one with that name."""
        assert self.chain is not None
        chain = self.chain
        previous = chain.hash.hex() if chain.hash is not None else None
        self._opened = file.open("wb")
        self._opened.write(msgspec.json.encode(Heading(after=chain.position, previous=previous)) + b"\n")
        self._room = self.most

    def close(self) -> None:
        """Have all of it on the disk."""
        if self._opened is not None:
            self._opened.flush()
            os.fsync(self._opened.fileno())
            self._opened.close()
            self._opened = None


def _whole(file: Path) -> bool:
    """Cut off what comes after the last whole line; whether there is one."""
    with file.open("r+b") as opened:
        end = opened.seek(0, os.SEEK_END)
        at = end
        while at > 0:
            start = max(0, at - 65536)
            opened.seek(start)
            found = opened.read(at - start).rfind(b"\n")
            if found >= 0:
                opened.truncate(start + found + 1)
                return True
            at = start
    return False
