"""The user ids that this machine has given to namespaces.

One file for the whole machine says which ids belong to which namespace, so that agents with different roots, and the
two agents of an upgrade, never give one id to two namespaces. Entries are only ever added: an id that a namespace
once had belongs to it for good, also when its last program is gone, since files may still be owned by it.
"""

from __future__ import annotations

import contextlib
import fcntl
import grp
import os
import pwd
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from stead.drivers.base import PermanentError, RetryableError

DEFAULT_FILE = "/var/lib/stead-users/ids.json"
VARIABLE = "STEAD_UID_FILE"
"""Names another file, for a whole machine."""

MAX_ID = 2**31 - 1
"""Ids above that are negative numbers to some programs."""

_LOCK_TIMEOUT = 5.0
_PAUSE = 0.02


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """The ids of one namespace: one, or a block of them for a user namespace."""

    namespace: str
    first: int
    count: int

    def overlaps(self, first: int, count: int) -> bool:
        """Whether it has an id of a block."""
        return self.first < first + count and first < self.first + self.count


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file."""

    entries: list[Entry] = []


_DECODER = msgspec.json.Decoder(Table)  # made here, since threads must not be the first to use a type


class UserIds:
    """Gives ids of one range to namespaces, `count` to each."""

    def __init__(self, file: Path, ids: range, count: int = 1) -> None:
        self._file = file
        self._ids = ids
        self._count = count

    def of(self, namespace: str, avoid: Callable[[], Iterable[int]]) -> int:
        """The first id of a namespace, given to it now if it had none; `avoid` are ids that must not be given.

        Raises `PermanentError` where the range has none left, or the file cannot be trusted.
        """
        if (entry := self._find(self._read(), namespace)) is not None:
            return entry.first
        with self._locked():
            table = self._read()
            if (entry := self._find(table, namespace)) is None:
                first = self._free(table, set(avoid()) | _accounts())
                entry = Entry(namespace, first, self._count)
                self._write(Table([*table.entries, entry]))
        return entry.first

    def owner(self, uid: int) -> str | None:
        """The namespace that has an id."""
        found = (entry.namespace for entry in self._read().entries if entry.overlaps(uid, 1))
        return next(found, None)

    def _find(self, table: Table, namespace: str) -> Entry | None:
        for entry in table.entries:
            whole = entry.first in self._ids and entry.first + self._count - 1 in self._ids
            if entry.namespace == namespace and entry.count == self._count and whole:
                return entry
        return None

    def _free(self, table: Table, avoid: set[int]) -> int:
        taken = {id for id in avoid if id in self._ids}
        mine = [entry for entry in table.entries if entry.overlaps(self._ids.start, len(self._ids))]
        starts = {entry.first for entry in mine if entry.count == self._count}
        for first in range(self._ids.start, self._ids.stop - self._count + 1, self._count):
            if first in starts or any(first <= id < first + self._count for id in taken):
                continue
            if not any(entry.overlaps(first, self._count) for entry in mine):
                return first
        shown = f"{self._ids.start}-{self._ids.stop - 1}"
        raise PermanentError(
            f"no user id is left for this namespace: all of {shown} are taken. "
            "Give the agent a larger range: --set uids=FIRST-LAST"
        )

    def _read(self) -> Table:
        try:
            fd = os.open(self._file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return Table()
        except OSError as error:
            raise PermanentError(f"{self._file}, the user ids of this machine: {error.strerror}") from error
        with os.fdopen(fd, "rb") as file:
            self._check_owner(os.fstat(fd), self._file)
            try:
                return _DECODER.decode(file.read())
            except msgspec.MsgspecError as error:
                raise PermanentError(
                    f"{self._file}, the user ids of this machine, is damaged: restore it. "
                    "Without it an id could be given to two namespaces, so nothing was run"
                ) from error

    def _write(self, table: Table) -> None:
        fresh = self._file.with_suffix(".new")
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, 0o600)
            file.write(msgspec.json.format(msgspec.json.encode(table), indent=1))
            file.flush()
            os.fsync(fd)
        fresh.replace(self._file)
        folder = os.open(self._file.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep every other agent of this machine away."""
        folder = self._file.parent
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise PermanentError(f"{folder}, for the user ids of this machine: {error.strerror}") from error
        self._check_owner(folder.stat(), folder)
        fd = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            end = time.monotonic() + _LOCK_TIMEOUT
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise RetryableError("another agent of this machine holds the file of user ids") from None
                    time.sleep(_PAUSE)
            yield
        finally:
            os.close(fd)

    def _check_owner(self, found: os.stat_result, path: Path) -> None:
        """A user who could write the file could choose the user that programs run as."""
        if found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise PermanentError(f"{path}: must belong to root, and no other user may write it. Nothing was run")


def parse_range(text: str, count: int = 1) -> range:
    """`FIRST-LAST` as ids. Raises `ValueError` where it is no range that can be used here."""
    first, dash, last = text.partition("-")
    if not (dash and first.strip().isdecimal() and last.strip().isdecimal()):
        raise ValueError(f"uids: {text!r} is not FIRST-LAST, such as 200000-265535")
    ids = range(int(first), int(last) + 1)
    if ids.start < 1 or ids.stop - 1 > MAX_ID:
        raise ValueError(f"uids: {text} is not between 1 and {MAX_ID}")
    if len(ids) < count:
        raise ValueError(f"uids: {text} has fewer than {count} ids")
    return ids


def check_mapped(ids: range, file: str = "/proc/self/uid_map") -> None:
    """Raises `ValueError` where the agent is root in a user namespace that does not have all of these ids."""
    missing = ids.start
    for inside, _, count in sorted(tuple(map(int, line.split())) for line in Path(file).read_text().splitlines()):
        if inside <= missing < inside + count:
            missing = inside + count
    if missing < ids.stop:
        shown = f"{ids.start}-{ids.stop - 1}"
        raise ValueError(f"uids: this container or user namespace does not have all of {shown}: choose others")


def _accounts() -> set[int]:
    """Ids that the machine uses for users and groups of its own."""
    return {one.pw_uid for one in pwd.getpwall()} | {one.gr_gid for one in grp.getgrall()}
