"""Disks: files in the pool, each with a note beside it, and attached to at most one machine.

Whether a disk is attached is told by the machine's definition at libvirt. The note only says where to look: it names
the machine before the disk is attached to it, and until it is detached.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
from stead.drivers.libvirt import machines, spec, volumes
from stead.drivers.libvirt.attaching import Attaching
from stead.drivers.libvirt.domains import Domain
from stead.drivers.libvirt.errors import NoAnswer
from stead.drivers.libvirt.machines import IN_BIN, Machines
from stead.drivers.libvirt.nodes import Call
from stead.drivers.libvirt.pool import OTHER_SPEC, REMOVED, Note, Pool, name_of
from stead.lifecycle.rows import ABSENT, BROKEN

KIND = "disk"
NOTES = "disks"
CREATED, ASSIGNED, DELETED, TO_BE_DELETED = "CREATED", "ASSIGNED", "DELETED", "TOBEDELETED"


class Disks:
    """Those of a datacenter."""

    kind = KIND
    verbs = frozenset(
        {
            "create",
            "assign",
            "attach",
            "detach",
            "delete",
            "delete-with-machine",
            "restore",
            "restore-with-machine",
            "destroy",
        }
    )

    def __init__(self, pool: Pool, keeper: Machines, attaching: Attaching) -> None:
        self._pool = pool
        self._machines = keeper
        self._attaching = attaching

    def do(self, verb: str, member: Member, order: str, call: Call) -> Result:
        """Do it to one disk."""
        name = name_of(member)
        with self._pool.hold(KIND, name, call.until):
            if verb == "destroy":
                self._destroy(name, call)
                return Result(path=member.path, ok=True, facts=_facts(name, ""))
            if verb in ("create", "assign"):
                self._create(name, member, order)
            note = self._pool.note(NOTES, name)
            if note is None:
                raise PermanentError("it is not there")
            machine = self._lead(verb, name, note, member, call)
        return Result(path=member.path, ok=True, facts=_facts(name, machine))

    def observe(self, member: Member, call: Call) -> ObservedObject:
        """How one disk is."""
        name = name_of(member)
        try:
            with self._pool.hold(KIND, name, 0, shared=True):
                note = self._pool.note(NOTES, name)
                if note is None:
                    return ObservedObject(path=member.path, state=ABSENT)
                state, machine, error = self._word(name, note, call)
        except NoAnswer:
            raise
        except RetryableError:
            return ObservedObject(path=member.path, state=TRANSITIONAL)  # somebody is at it
        return ObservedObject(
            path=member.path, state=state, facts=_facts(name, machine), revision=note.revision, error=error
        )

    def all(self, call: Call) -> list[FoundObject]:
        """What lies in the pool."""
        found = []
        for name in self._pool.names(NOTES):
            note = self._pool.readable(NOTES, name)
            if note is None:
                continue
            try:
                state, machine, _ = self._word(name, note, call)
            except NoAnswer:
                raise
            except RetryableError:
                state, machine = TRANSITIONAL, ""
            found.append(
                FoundObject(
                    id=name, token=note.token, state=state, path=note.path, facts=_facts(name, machine), kind=KIND
                )
            )
        return found

    def _create(self, name: str, member: Member, order: str) -> None:
        asked = spec.read(spec.Disk, member.spec)
        digest = spec.digest(member.spec, "machine")
        if self._pool.is_spent(name):
            raise PermanentError(REMOVED)
        note = self._pool.note(NOTES, name)
        if note is not None:
            if note.digest != digest:
                raise PermanentError(OTHER_SPEC)
            return
        volumes.make(self._file(name), asked.size * spec.MIB)
        made = Note(
            token=member.token, path=member.path, revision=member.revision, digest=digest, order=order, format="raw"
        )
        self._pool.write(NOTES, name, made)

    def _lead(self, verb: str, name: str, note: Note, member: Member, call: Call) -> str:
        """Where the verb wants it; the path of the machine that it is attached to then."""
        if verb in ("attach", "assign"):
            path = spec.read(spec.Disk, member.spec).machine
            found = self._pool.by_path(machines.NOTES, path) if path else None
            if found is None:
                raise PermanentError(f"there is no machine {path} here" if path else "the spec names no machine")
            now = msgspec.structs.replace(note, revision=member.revision)
            return self._attach(name, now, found[0], call)[0]
        if verb == "detach":
            if note.mark:
                raise PermanentError(IN_BIN)
            self._detach(name, note, call)
            return ""
        machine = self._attached(name, note, call)
        if verb == "delete":
            if machine and note.mark != DELETED:
                raise PermanentError(f"it is attached to {machine}, and has to be detached first")
            self._sign(name, note, DELETED)
        elif verb == "delete-with-machine":
            if note.mark == DELETED or not (machine or self._outlived(note)):
                raise PermanentError("it is attached to no machine")
            self._sign(name, note, TO_BE_DELETED)
        elif verb == "restore":
            if note.mark == TO_BE_DELETED and machine:
                raise PermanentError(f"it is restored together with {machine}")
            self._sign(name, note, "")
        elif verb == "restore-with-machine":
            if not machine:
                raise PermanentError("its machine is not there")
            self._sign(name, note, "")
        return machine

    def _attach(self, name: str, note: Note, machine: str, call: Call) -> tuple[str, dict[str, Any]]:
        if note.mark:
            raise PermanentError(IN_BIN)
        if note.machine not in ("", machine) and (other := self._attached(name, note, call)):
            raise PermanentError(f"it is attached to {other}")
        with self._pool.hold(machines.KIND, machine, call.until):
            domain = self._there(machine, call)
            if domain is None:
                raise PermanentError("the machine is not there")
            if domain.mark.state:
                raise PermanentError(f"the machine {domain.mark.path}: {IN_BIN}")
            self._pool.write(NOTES, name, msgspec.structs.replace(note, machine=machine))
            self._attaching.attach(domain, self._file(name), note.format, call)
            return domain.mark.path, machines.facts(machine, domain)

    def _detach(self, name: str, note: Note, call: Call) -> None:
        if not note.machine:
            return
        with self._pool.hold(machines.KIND, note.machine, call.until):
            domain = self._there(note.machine, call)
            if domain is not None:
                self._attaching.detach(domain, self._file(name), note.format, call)
            self._pool.write(NOTES, name, msgspec.structs.replace(note, machine=""))

    def _destroy(self, name: str, call: Call) -> None:
        self._pool.spend(name)
        note = self._pool.note(NOTES, name)
        if note is not None:
            self._detach(name, note, call)
        volumes.remove(self._file(name))
        self._pool.forget(NOTES, name)

    def _sign(self, name: str, note: Note, mark: str) -> None:
        if note.mark != mark:
            self._pool.write(NOTES, name, msgspec.structs.replace(note, mark=mark))

    def _word(self, name: str, note: Note, call: Call) -> tuple[str, str, str]:
        if not self._file(name).exists():
            return BROKEN, "", "its file is gone"
        machine = self._attached(name, note, call)
        return note.mark or (ASSIGNED if machine else CREATED), machine, ""

    def _attached(self, name: str, note: Note, call: Call) -> str:
        """The path of the machine that has it; nothing where none does."""
        if not note.machine:
            return ""
        domain = self._machines.find(note.machine, call, settle=False)
        if domain is None or not self._attaching.has(domain, self._file(name), call):
            return ""
        return domain.mark.path

    def _outlived(self, note: Note) -> bool:
        """Whether the machine that had it was destroyed."""
        return bool(note.machine) and self._pool.note(machines.NOTES, note.machine) is None

    def _there(self, machine: str, call: Call) -> Domain | None:
        return self._machines.find(machine, call)

    def _file(self, name: str) -> Path:
        return self._pool.file(NOTES, name, ".img")


def _facts(name: str, machine: str) -> dict[str, Any]:
    return {"id": name, "machine": machine or None}
