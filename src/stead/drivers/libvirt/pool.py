"""The folder that all nodes share: volumes, notes on what is there, locks, and tokens that are spent.

    machines/NAME.json     on which node a machine is, and where it is moving to
    nodes/NODE.json        that a node was taken out
    disks/NAME.img, .json  a disk, and whose it is
    images/NAME.img, .json an image, and whose it is
    roots/NAME.img         the first disk of a machine
    memory/NAME            of a machine that is moving to another node
    consoles/NAME          what a machine wrote to its console
    locks/                 held while a call works on something
    spent/                 tokens of what was destroyed

A name follows from a token, so no token can have two. Notes are put in place whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from stead.drivers.base import Member, RetryableError

log = logging.getLogger(__name__)

SPENT = 30 * 86_400
"""Seconds after which no order can come any more for something that was destroyed."""

REMOVED = "it was made, and has been destroyed since"
OTHER_SPEC = "its token was used for another spec"
"""What is said of tokens under which nothing can be made."""

_SLOTS = 1024
_PAUSE = 0.02
_OURS = re.compile(r"stead-[0-9a-f]{24}")


class Note(Struct, frozen=True, kw_only=True):
    """What is known of something that lies in the pool, or was put on a node."""

    token: str
    path: str
    revision: int = 0
    digest: str = ""
    """Of the spec that it was made with."""
    mark: str = ""
    """The state in which it is put aside: deleted, or disabled."""
    order: str = ""
    node: str = ""
    """Of a machine: where it is."""
    to: str = ""
    """Of a machine: where it is moving to."""
    was: str = ""
    """Of a machine that is moving: its state before."""
    machine: str = ""
    """Of a disk: the name of the machine that it is attached to, or to be attached to."""
    format: str = "raw"
    """Of a volume."""


_DECODER = msgspec.json.Decoder(Note)  # made here, since threads must not be the first to use a type


def name_of(member: Member) -> str:
    """What the member is called here: by the id that was told, or by its token."""
    told = member.facts.get("id")
    return told if isinstance(told, str) and _OURS.fullmatch(told) else named(member.token)


def named(token: str) -> str:
    """The name that follows from a token."""
    return f"stead-{hashlib.sha256(token.encode()).hexdigest()[:24]}"


def is_ours(name: str) -> bool:
    """Whether something may be ours, by its name."""
    return _OURS.fullmatch(name) is not None


class Pool:
    """The folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, kind: str, name: str, suffix: str = "") -> Path:
        """Where something is; its folder is made if need be. Hypervisors may run as another user, and go through."""
        place = self.folder / kind
        place.mkdir(exist_ok=True, mode=0o711)  # the pool itself is not made: where it is not, nobody knows anything
        return place / f"{name}{suffix}"

    def note(self, kind: str, name: str) -> Note | None:
        """What is noted; None where nothing is."""
        file = self.file(kind, name, ".json")
        try:
            return _DECODER.decode(file.read_bytes())
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise RetryableError(f"the note on {name} cannot be read", detail=repr(error)) from error

    def readable(self, kind: str, name: str) -> Note | None:
        """The same, for a list of all: what cannot be read is left out with a warning, and the others are listed."""
        try:
            return self.note(kind, name)
        except RetryableError as error:
            log.warning("%s (%s)", error, error.detail)
            return None

    def write(self, kind: str, name: str, note: Note) -> None:
        """From now on this is so, even if the machine loses its power."""
        file = self.file(kind, name, ".json")
        fresh = file.with_suffix(".new")
        with fresh.open("wb") as out:
            out.write(msgspec.json.encode(note))
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(file)

    def forget(self, kind: str, name: str) -> None:
        """No note any more."""
        self.file(kind, name, ".json").unlink(missing_ok=True)

    def names(self, kind: str) -> list[str]:
        """All of a kind on which there is a note."""
        place = self.file(kind, "any").parent
        return sorted(file.stem for file in place.glob("stead-*.json"))

    def by_path(self, kind: str, path: str) -> tuple[str, Note] | None:
        """What has a path."""
        for name in self.names(kind):
            note = self.note(kind, name)
            if note is not None and note.path == path:
                return name, note
        return None

    @contextlib.contextmanager
    def hold(self, kind: str, name: str, until: float, *, shared: bool = False) -> Iterator[None]:
        """Lock a name, in this process and in any other. Raises `RetryableError` if they do not go."""
        slot = int(hashlib.sha256(name.encode()).hexdigest(), 16) % _SLOTS
        fd = os.open(self.file("locks", f"{kind}-{slot:03x}"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise RetryableError("somebody else is at it", after=0.2) from None
                    time.sleep(_PAUSE)
            yield
        finally:
            os.close(fd)

    def spend(self, name: str) -> None:
        """Nothing is made under that name any more. Marks too old to matter go."""
        mark = self.file("spent", name)
        mark.touch()
        if mark.name.endswith("00"):
            for old in mark.parent.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    if old.stat().st_mtime < time.time() - SPENT:
                        old.unlink()

    def is_spent(self, name: str) -> bool:
        """Whether what was made under it has been destroyed."""
        return self.file("spent", name).exists()

    def is_out(self, node: str) -> bool:
        """Whether a node was taken out of the datacenter."""
        return self.file("nodes", node, ".json").exists()
