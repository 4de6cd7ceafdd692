"""Nodes, as something that is looked at: whether one answers, and what it has."""

from __future__ import annotations

from stead.drivers.base import FoundObject, Member, ObservedObject, PermanentError, Result
from stead.drivers.libvirt import machines
from stead.drivers.libvirt.nodes import Call, Node, Nodes
from stead.drivers.libvirt.pool import Note, Pool
from stead.lifecycle.rows import ABSENT

KIND = "node"
NOTES = "nodes"
ENABLED, DECOMMISSIONED = "ENABLED", "DECOMMISSIONED"


class Hosts:
    """Those of a datacenter. They are no work of ours, so none of them is in an inventory."""

    kind = KIND
    verbs = frozenset({"enable", "decommission"})

    def __init__(self, nodes: Nodes, pool: Pool) -> None:
        self._nodes = nodes
        self._pool = pool

    def do(self, verb: str, member: Member, order: str, call: Call) -> Result:
        """Take it in, or out."""
        node = self._nodes.get(_named(member))
        if node is None:
            raise PermanentError(f"there is no node {_named(member)} here")
        with self._pool.hold(KIND, node.name, call.until):
            if verb == "enable":
                facts = _facts(node, call)
                self._pool.forget(NOTES, node.name)
                return Result(path=member.path, ok=True, facts=facts)
            left = [
                n.path
                for n in map(self._machine, self._pool.names(machines.NOTES))
                if n and node.name in (n.node, n.to)
            ]
            if left:
                raise PermanentError(
                    f"it has machines: {', '.join(left[:3])}{' and others' if len(left) > 3 else ''}"
                )
            note = Note(token=member.token, path=member.path, order=order, mark=DECOMMISSIONED)
            self._pool.write(NOTES, node.name, note)
            return Result(path=member.path, ok=True, facts={"id": node.name})

    def observe(self, member: Member, call: Call) -> ObservedObject:
        """Whether it answers."""
        node = self._nodes.get(_named(member))
        if node is None or self._pool.is_out(node.name):
            return ObservedObject(path=member.path, state=ABSENT)
        return ObservedObject(path=member.path, state=ENABLED, facts=_facts(node, call))

    def all(self, call: Call) -> list[FoundObject]:
        """Nothing."""
        return []

    def _machine(self, name: str) -> Note | None:
        return self._pool.note(machines.NOTES, name)


def _named(member: Member) -> str:
    return member.path.rstrip("/").rpartition("/")[2]


def _facts(node: Node, call: Call) -> dict[str, object]:
    """What it has: so many processors, so much memory in MiB."""
    info = node.ask(call, lambda c: c.getInfo())
    return {"id": node.name, "cpus": int(info[2]), "memory": int(info[1])}
