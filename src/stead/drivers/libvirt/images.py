"""Images: files in the pool that the first disks of machines are copied from, each with a note beside it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from stead.drivers.base import (
    TRANSITIONAL,
    FoundObject,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
)
from stead.drivers.libvirt import spec, volumes
from stead.drivers.libvirt.errors import NoAnswer
from stead.drivers.libvirt.nodes import Call
from stead.drivers.libvirt.pool import OTHER_SPEC, REMOVED, Note, Pool, name_of
from stead.lifecycle.rows import ABSENT, BROKEN

KIND = "image"
NOTES = "images"
CREATED, DISABLED, DELETED = "CREATED", "DISABLED", "DELETED"

_MOVES = {
    "disable": (("", DISABLED), DISABLED),
    "enable": (("", DISABLED), ""),
    "delete": (("", DISABLED, DELETED), DELETED),
    "restore": (("", DELETED), ""),
}
"""By verb: the marks that it is for, and the mark that it sets."""


class Images:
    """Those of a datacenter."""

    kind = KIND
    verbs = frozenset({"create", "destroy", *_MOVES})

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def do(self, verb: str, member: Member, order: str, call: Call) -> Result:
        """Do it to one image."""
        name = name_of(member)
        with self._pool.hold(KIND, name, call.until):
            note = self._pool.note(NOTES, name)
            if verb == "create":
                self._create(name, note, member, order, call)
            elif verb == "destroy":
                self._pool.spend(name)
                volumes.remove(self._file(name))
                self._pool.forget(NOTES, name)
            elif note is None:
                raise PermanentError("it is not there")
            else:
                marks, mark = _MOVES[verb]
                if note.mark not in marks:
                    raise PermanentError(f"it is {note.mark or CREATED}")
                self._pool.write(NOTES, name, msgspec.structs.replace(note, mark=mark))
        return Result(path=member.path, ok=True, facts={"id": name})

    def observe(self, member: Member, call: Call) -> ObservedObject:
        """How one image is."""
        name = name_of(member)
        try:
            with self._pool.hold(KIND, name, 0, shared=True):
                note = self._pool.note(NOTES, name)
        except NoAnswer:
            raise
        except RetryableError:
            return ObservedObject(path=member.path, state=TRANSITIONAL)  # somebody is at it
        if note is None:
            return ObservedObject(path=member.path, state=ABSENT)
        state, error = self._word(name, note)
        return ObservedObject(path=member.path, state=state, facts={"id": name}, revision=note.revision, error=error)

    def all(self, call: Call) -> list[FoundObject]:
        """What lies in the pool."""
        notes = [(name, self._pool.readable(NOTES, name)) for name in self._pool.names(NOTES)]
        return [
            FoundObject(
                id=name, token=n.token, state=self._word(name, n)[0], path=n.path, facts={"id": name}, kind=KIND
            )
            for name, n in notes
            if n is not None
        ]

    def usable(self, path: str) -> Path:
        """The file of an image that a machine is made from."""
        found = self._pool.by_path(NOTES, path)
        if found is None:
            raise PermanentError(f"there is no image {path} here")
        name, note = found
        if note.mark:
            raise PermanentError(f"the image {path} cannot be used: it is {note.mark}")
        return self._file(name)

    def _create(self, name: str, note: Note | None, member: Member, order: str, call: Call) -> None:
        asked = spec.read(spec.Image, member.spec)
        digest = spec.digest(member.spec)
        if self._pool.is_spent(name):
            raise PermanentError(REMOVED)
        if note is not None:
            if note.digest != digest:
                raise PermanentError(OTHER_SPEC)
            return
        format = volumes.copy(Path(asked.file), self._file(name), call)
        self._pool.write(
            NOTES,
            name,
            Note(
                token=member.token,
                path=member.path,
                revision=member.revision,
                digest=digest,
                order=order,
                format=format,
            ),
        )

    def _word(self, name: str, note: Note) -> tuple[str, str]:
        if not self._file(name).exists():
            return BROKEN, "its file is gone"
        return note.mark or CREATED, ""

    def _file(self, name: str) -> Path:
        return self._pool.file(NOTES, name, ".img")
