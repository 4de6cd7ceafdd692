"""Machines: a domain on a node, and a note in the pool that says on which.

The note is written before the domain is defined, so a machine that has none was never made, whichever nodes answer.
Whatever is done to a machine is done by one at a time, under a lock in the pool; looks are not kept waiting, and say
of what somebody is at that it is on its way.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stead.drivers.base import (
    TRANSITIONAL,
    FoundObject,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
)
from stead.drivers.libvirt import definitions, domains, spec, volumes
from stead.drivers.libvirt.domains import DELETED, HALTED, PAUSED, RUNNING, Domain
from stead.drivers.libvirt.errors import NoAnswer
from stead.drivers.libvirt.images import Images
from stead.drivers.libvirt.marks import Mark
from stead.drivers.libvirt.moves import Moves
from stead.drivers.libvirt.nodes import Call, Node, Nodes
from stead.drivers.libvirt.pool import OTHER_SPEC, REMOVED, Note, Pool, is_ours, name_of
from stead.drivers.libvirt.settings import Config
from stead.lifecycle.rows import ABSENT

KIND = "machine"
NOTES = "machines"
IN_BIN = "it lies in the recycle bin"
OFF = "it is not running"
GONE = "it is not there"

ENDS = frozenset({"stop", "delete", "destroy"})
"""Verbs for which there is nothing left to do where nothing is."""


class Machines:
    """Those of a datacenter."""

    kind = KIND

    def __init__(self, config: Config, nodes: Nodes, pool: Pool, images: Images) -> None:
        self._config = config
        self._images = images
        self._moves = Moves(config, nodes, pool)
        self._nodes = nodes
        self._pool = pool
        self._deeds: Mapping[str, Callable[[Domain, Member, Call], str]] = {
            "pause": self._pause,
            "resume": self._resume,
            "stop": self._stop,
            "start": self._start,
            "reboot": self._reboot,
            "reset": self._reset,
            "delete": self._delete,
            "restore": self._restore,
            "destroy": self._destroy,
        }
        self.verbs = frozenset({"deploy", "migrate", *self._deeds})

    def do(self, verb: str, member: Member, order: str, call: Call) -> Result:
        """Do it to one machine."""
        name = name_of(member)
        with self._pool.hold(KIND, name, call.until):
            if verb == "deploy":
                return self._deploy(name, member, order, call)
            domain = self.find(name, call)
            if domain is None:
                if verb == "destroy":
                    self._clear(name)
                if verb in ENDS:
                    return Result(path=member.path, ok=True, facts=facts(name))
                raise PermanentError(GONE)
            if verb == "migrate":
                return self._migrate(domain, member, call)
            pending = self._deeds[verb](domain, member, call)
            return Result(path=member.path, ok=True, pending=pending, facts=facts(name, domain))

    def observe(self, member: Member, call: Call) -> ObservedObject:
        """How one machine is."""
        name = name_of(member)
        note = self._pool.note(NOTES, name)
        stuck = note is not None and bool(note.to)  # whoever looks brings it to an end, if nobody else is at it
        try:
            with self._pool.hold(KIND, name, 0, shared=not stuck):
                domain = self.find(name, call, settle=stuck)
                if domain is None:
                    return ObservedObject(path=member.path, state=ABSENT)
                state, error = self._word(domain, call)
        except NoAnswer:
            raise
        except RetryableError:
            return ObservedObject(path=member.path, state=TRANSITIONAL)  # somebody is at it
        return ObservedObject(
            path=member.path,
            state=state,
            facts=facts(name, domain),
            revision=domain.mark.revision,
            error=error,
        )

    def all(self, call: Call) -> list[FoundObject]:
        """What carries our mark, on any node. Where one does not answer, nobody knows."""
        found = []
        for node in (node for node in self._nodes if not self._pool.is_out(node.name)):
            for name in filter(is_ours, node.ask(call, _names)):
                domain, note = domains.find(call, node, name), self._pool.readable(NOTES, name)
                if domain is None or (note is not None and note.node != node.name):
                    continue
                state = TRANSITIONAL if note is not None and note.to else self._word(domain, call)[0]
                if state != ABSENT:
                    mark, told = domain.mark, facts(name, domain)
                    found.append(
                        FoundObject(id=name, token=mark.token, state=state, path=mark.path, facts=told, kind=KIND)
                    )
        return found

    def find(self, name: str, call: Call, *, settle: bool = True) -> Domain | None:
        """Where it is. Where no note says so, it is looked for everywhere.

        One that was left on its way to another node is brought to an end, unless that is not to be done here."""
        note = self._pool.note(NOTES, name)
        if note is not None and note.to:
            if not settle:
                raise RetryableError("it is on its way")
            return self._moves.settle(name, note, call)
        if note is not None:
            return domains.find(call, self._nodes.known(note.node), name)
        for node in self._nodes:
            if (domain := domains.find(call, node, name)) is not None:
                return domain
        return None

    def node(self, name: str) -> Node:
        """The node of that name."""
        node = self._nodes.get(name)
        if node is None:
            raise PermanentError(f"there is no node {name} here" if name else "the spec names no node")
        return node

    def _open_to_all(self, name: str) -> Node:
        """The same, if it takes machines."""
        node = self.node(name)
        if self._pool.is_out(name):
            raise PermanentError(f"node {name} was decommissioned")
        return node

    def _deploy(self, name: str, member: Member, order: str, call: Call) -> Result:
        asked = spec.read(spec.Machine, member.spec)
        digest = spec.digest(member.spec, "node")
        if self._pool.is_spent(name):
            raise PermanentError(REMOVED)
        domain = self.find(name, call) if self._pool.note(NOTES, name) is not None else None
        if domain is not None and domain.mark.digest != digest:
            raise PermanentError(OTHER_SPEC)
        if domain is not None and domain.mark.fresh and asked.on != domain.node.name and not domain.is_on(call):
            self._open_to_all(asked.on)
            domain.undefine(call)  # it never ran, and whoever tries again has chosen another node
            domain = None
        if domain is None:
            node = self._open_to_all(asked.on)
            root = self._root(name, asked, call)
            self._pool.write(
                NOTES, name, Note(token=member.token, path=member.path, order=order, digest=digest, node=node.name)
            )
            mark = Mark(
                token=member.token,
                path=member.path,
                kind=KIND,
                revision=member.revision,
                digest=digest,
                order=order,
                fresh=str(int(time.time())),
            )
            console = self._pool.file("consoles", name)
            made = definitions.machine(name, asked, mark, self._config.hypervisor, root, console)
            domains.define(call, node, made)
            domain = Domain(node, name, mark)
        if domain.mark.fresh:
            if not domain.is_on(call):
                domain.start(call)
            domain.sign(call, fresh="")
        return Result(path=member.path, ok=True, facts=facts(name, domain))

    def _root(self, name: str, asked: spec.Machine, call: Call) -> tuple[Path, str] | None:
        """Its first disk, if it has one."""
        file = self._pool.file("roots", name, ".img")
        format = volumes.copy(self._images.usable(asked.image), file, call) if asked.image else "raw"
        if isinstance(asked.disk, int):
            if format != "raw":
                raise PermanentError("only a raw image can be made larger")
            volumes.make(file, asked.disk * spec.MIB)
        return (file, format) if file.exists() else None

    def _migrate(self, domain: Domain, member: Member, call: Call) -> Result:
        if domain.mark.state:
            raise PermanentError(IN_BIN)
        target = self._open_to_all(spec.read(spec.Machine, member.spec).on)
        note = self._pool.note(NOTES, domain.name)
        made = Note(token=domain.mark.token, path=domain.mark.path, node=domain.node.name)
        before = domain.is_on(call)
        moved = self._moves.move(domain, note or made, target, call)
        if before and not moved.is_on(call):
            error = "it is no longer on: it ended while it was moved"
            return Result(path=member.path, ok=False, error=error, facts=facts(moved.name, moved))
        if moved.mark.revision != member.revision:
            moved.sign(call, revision=member.revision)
        return Result(path=member.path, ok=True, facts=facts(moved.name, moved))

    def _pause(self, domain: Domain, _member: Member, call: Call) -> str:
        if self._on(domain, call) == RUNNING:
            domain.pause(call)
        return ""

    def _resume(self, domain: Domain, _member: Member, call: Call) -> str:
        if self._on(domain, call) == PAUSED:
            domain.resume(call)
        return ""

    def _stop(self, domain: Domain, _member: Member, call: Call) -> str:
        if domain.is_on(call):
            domain.shut_down(call, self._config.grace)
        if domain.mark.fresh:
            domain.sign(call, fresh="")
        return ""

    def _start(self, domain: Domain, _member: Member, call: Call) -> str:
        if domain.mark.state:
            raise PermanentError(IN_BIN)
        if not domain.is_on(call):
            domain.start(call)
        elif self._on(domain, call) == PAUSED:
            domain.resume(call)
        if domain.mark.fresh:
            domain.sign(call, fresh="")
        return ""

    def _reboot(self, domain: Domain, _member: Member, call: Call) -> str:
        """Gently where it runs. What is frozen would not hear of it, and is switched off and on."""
        if self._on(domain, call) == PAUSED:
            domain.reset(call)
            domain.resume(call)
            return ""
        if self._config.grace:
            domain.reboot(call)
        else:
            domain.reset(call)
        return RUNNING

    def _reset(self, domain: Domain, _member: Member, call: Call) -> str:
        self._on(domain, call)
        domain.reset(call)
        return ""

    def _delete(self, domain: Domain, _member: Member, call: Call) -> str:
        if not domain.mark.state:
            domain.sign(call, state=DELETED, fresh="")  # from here on nobody starts it
        if domain.is_on(call):
            domain.kill(call)
        return ""

    def _restore(self, domain: Domain, _member: Member, call: Call) -> str:
        if domain.mark.state:
            domain.sign(call, state="")
        return ""

    def _destroy(self, domain: Domain, _member: Member, call: Call) -> str:
        self._pool.spend(domain.name)
        if domain.is_on(call):
            domain.kill(call)
        domain.undefine(call)
        for node in self._nodes:
            if node is not domain.node:
                with contextlib.suppress(NoAnswer):
                    self._moves.sweep(domain.name, node, call)
        self._clear(domain.name)
        return ""

    def _clear(self, name: str) -> None:
        """What is left in the pool of one that is on no node."""
        self._pool.spend(name)
        volumes.remove(self._pool.file("roots", name, ".img"))
        for kind in ("consoles", "memory"):
            self._pool.file(kind, name).unlink(missing_ok=True)
        self._pool.forget(NOTES, name)

    def _on(self, domain: Domain, call: Call) -> str:
        """Whether it runs or is paused. It is one of these, or the verb is not for it."""
        if domain.mark.state:
            raise PermanentError(IN_BIN)
        sight = domain.sight(call)
        if sight is None:
            raise PermanentError(GONE)
        if sight.state == TRANSITIONAL:
            raise RetryableError("it is on its way")
        if sight.state not in (RUNNING, PAUSED):
            raise PermanentError(sight.error or OFF)
        return sight.state

    def _word(self, domain: Domain, call: Call) -> tuple[str, str]:
        """The lifecycle's word for what is there.

        What was just defined and not yet started may be about to be, for as long as a call lasts. After that nobody
        is left who would start it, and it is what it is: there, and off."""
        sight = domain.sight(call)
        if sight is None:
            return ABSENT, ""
        if sight.state == HALTED and domain.mark.state:
            return domain.mark.state, ""
        if (
            sight.state == HALTED
            and domain.mark.fresh
            and time.time() - int(domain.mark.fresh) < self._config.timeout
        ):
            return TRANSITIONAL, ""
        return sight.state, sight.error


def facts(name: str, domain: Domain | None = None) -> dict[str, Any]:
    """What is told of a machine with every look and result."""
    return {"id": name} if domain is None else {"id": name, "node": domain.node.name}


def _names(connection: Any) -> list[str]:
    return [domain.name() for domain in connection.listAllDomains()]
