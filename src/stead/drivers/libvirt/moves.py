"""How a machine gets to another node: with all that it is doing, or carried over while it is off.

A machine that is paused is carried as well: nobody would notice the difference, and QEMU cannot send a machine on
that was sent to it while it was paused, since its disks wait for it to be woken.

A machine never runs twice. Live, libvirt sees to that: the source runs until the target has everything, and is gone
then. Otherwise the order of steps does: its memory is saved to the pool, which ends it at the source; it is defined
at the target; it is removed at the source; only then is it woken at the target.

Before the first step a note in the pool says where it is going. Whoever finds such a note later, when nobody is at
it, reads from what is on both nodes how far it came, and leads it to one end or the other.
"""

from __future__ import annotations

from pathlib import Path

import libvirt
import msgspec

from stead.drivers.base import DriverError, RetryableError
from stead.drivers.libvirt import domains
from stead.drivers.libvirt.domains import HALTED, PAUSED, RUNNING, Domain
from stead.drivers.libvirt.errors import NoAnswer
from stead.drivers.libvirt.nodes import Call, Node, Nodes
from stead.drivers.libvirt.pool import Note, Pool
from stead.drivers.libvirt.settings import Config

NOTES = "machines"

_LIVE = (
    libvirt.VIR_MIGRATE_LIVE
    | libvirt.VIR_MIGRATE_PEER2PEER
    | libvirt.VIR_MIGRATE_PERSIST_DEST
    | libvirt.VIR_MIGRATE_UNDEFINE_SOURCE
    | libvirt.VIR_MIGRATE_AUTO_CONVERGE
    | libvirt.VIR_MIGRATE_UNSAFE  # libvirt cannot know that the pool is shared; nodes keep nothing of disks in memory
)


class Moves:
    """Between the nodes of a datacenter."""

    def __init__(self, config: Config, nodes: Nodes, pool: Pool) -> None:
        self._live = config.migration == "live" and config.hypervisor != "test"
        self._nodes = nodes
        self._pool = pool

    def move(self, domain: Domain, note: Note, target: Node, call: Call) -> Domain:
        """The machine on that node, in the state in which it was, unless it has ended meanwhile."""
        if target.name == domain.node.name:
            return domain
        self.sweep(domain.name, target, call)  # who does not answer gets nothing
        sight = domain.sight(call)
        if sight is None or sight.state not in (RUNNING, PAUSED, HALTED):
            raise RetryableError("it is on its way", unknown=call.acted)
        note = msgspec.structs.replace(note, node=domain.node.name, to=target.name, was=sight.state)
        self._pool.write(NOTES, domain.name, note)
        if sight.state == HALTED:
            domains.define(call, target, domain.definition(call))
            domain.undefine(call)
        else:
            try:
                if self._live and sight.state == RUNNING:
                    self._send(domain, target, call)
                else:
                    domain.save(call, str(self._memory(domain.name)))
            except NoAnswer:
                raise
            except DriverError:
                self.settle(domain.name, note, call)
                raise
        moved = self.settle(domain.name, note, call)
        if moved is None or moved.node.name != target.name:
            raise RetryableError("it could not be moved, and is where it was", unknown=False)
        return moved

    def sweep(self, name: str, node: Node, call: Call) -> None:
        """Remove what is left on a node that a machine is not on: where a source died at the very beginning, its
        target goes on waiting for memory that does not come."""
        left = domains.find(call, node, name)
        if left is None:
            return
        if left.runs(call):
            raise RetryableError(f"it runs on {node.name} as well", unknown=call.acted)
        if left.is_on(call):
            left.kill(call)
        if left.is_there(call):
            left.undefine(call)

    def settle(self, name: str, note: Note, call: Call) -> Domain | None:
        """Lead a machine that was on its way to one end or the other, by what is there."""
        source, target = self._nodes.known(note.node), self._nodes.known(note.to)
        here, there = domains.find(call, source, name), domains.find(call, target, name)
        sends = here or there  # a target may wait for a source that is no longer at it
        if sends is not None and sends.is_busy(call):
            raise RetryableError("libvirt is still moving it", unknown=True)
        here_on, there_on = here is not None and here.is_on(call), there is not None and there.is_on(call)
        if here is not None and there is not None and here_on and there_on:
            # A daemon died between them. Who runs has everything; if none does, the source surely has.
            arrived = there.runs(call) and not here.runs(call)
            (here if arrived else there).kill(call)
            here_on, there_on = not arrived, arrived
            here, there = domains.find(call, source, name), domains.find(call, target, name)
        memory = self._memory(name)
        if here is not None and (here_on or not (there_on or memory.exists())):
            # It never left; or it ended by itself before it could.
            if there is not None:
                there.undefine(call)
            if here_on:
                self._lead_back(here, note.was, call)
            memory.unlink(missing_ok=True)
            return self._arrived(name, note, here)
        if here is not None:
            if there is None:
                domains.define(call, target, here.definition(call))
            here.undefine(call)
            there = domains.find(call, target, name)
        if there is None:
            self._pool.write(NOTES, name, msgspec.structs.replace(note, to="", was=""))
            return None
        if memory.exists():
            if not there_on:
                there.wake(call, str(memory))
            self._lead_back(there, note.was, call)
            memory.unlink(missing_ok=True)
        return self._arrived(name, note, there)

    def _send(self, domain: Domain, target: Node, call: Call) -> None:
        """As it runs. Where nodes reach each other by sockets, there is no other way between them but this one."""
        way = self._nodes.way_to(target)
        flags = _LIVE | (libvirt.VIR_MIGRATE_TUNNELLED if "+unix:" in way else 0)
        domain.migrate(call, way, flags)

    def _lead_back(self, domain: Domain, was: str, call: Call) -> None:
        """To the state in which it was: a move that failed may leave it paused, and libvirt's test driver wakes who
        was paused."""
        sight = domain.sight(call)
        if sight is not None and (sight.state, was) == (RUNNING, PAUSED):
            domain.pause(call)
        elif sight is not None and (sight.state, was) == (PAUSED, RUNNING):
            domain.resume(call)

    def _arrived(self, name: str, note: Note, domain: Domain) -> Domain:
        self._pool.write(NOTES, name, msgspec.structs.replace(note, node=domain.node.name, to="", was=""))
        return domain

    def _memory(self, name: str) -> Path:
        return self._pool.file("memory", name)
