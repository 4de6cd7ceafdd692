"""Cloudspaces: a network without a way out, of the same name on every node.

It is in use where its network is active. One that is put aside is not, and its definition says why. A node that was
away is brought in line when somebody asks for the same again; one that does not have the network yet does not count.
"""

from __future__ import annotations

from collections.abc import Callable
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
from stead.drivers.libvirt import definitions, marks, spec
from stead.drivers.libvirt.errors import NoAnswer
from stead.drivers.libvirt.marks import Mark
from stead.drivers.libvirt.nodes import Call, Node, Nodes
from stead.drivers.libvirt.pool import OTHER_SPEC, REMOVED, Pool, is_ours, name_of
from stead.lifecycle.rows import ABSENT, BROKEN

KIND = "cloudspace"
DEPLOYED, DISABLED, PAUSED, DELETED = "DEPLOYED", "DISABLED", "PAUSED", "DELETED"

_MOVES = {
    "disable": (("", DISABLED), DISABLED),
    "enable": (("", DISABLED), ""),
    "pause": (("", PAUSED), PAUSED),
    "resume": (("", PAUSED), ""),
    "reset": (("", PAUSED), ""),
    "delete": (("", DISABLED, PAUSED, DELETED), DELETED),
    "restore": (("", DELETED), ""),
}
"""By verb: the marks that it is for, and the mark that it sets."""


class Cloudspaces:
    """Those of a datacenter."""

    kind = KIND
    verbs = frozenset({"deploy", "destroy", *_MOVES})

    def __init__(self, nodes: Nodes, pool: Pool) -> None:
        self._nodes = nodes
        self._pool = pool

    def do(self, verb: str, member: Member, order: str, call: Call) -> Result:
        """Do it to one cloudspace, on every node; where one does not answer, on all others first."""
        name = name_of(member)
        with self._pool.hold(KIND, name, call.until):
            if verb == "destroy":
                self._pool.spend(name)
                self._everywhere(call, lambda node: _remove(node, name, call))
            else:
                mark = self._meant(verb, name, member, order, call)
                anew = verb == "reset"
                self._everywhere(call, lambda node: _lead(node, name, mark, anew, call))
        return Result(path=member.path, ok=True, facts={"id": name})

    def observe(self, member: Member, call: Call) -> ObservedObject:
        """How one cloudspace is, by the nodes that have it."""
        name = name_of(member)
        try:
            with self._pool.hold(KIND, name, 0, shared=True):
                found, silence = self._found(name, call)
        except NoAnswer:
            raise
        except RetryableError:
            return ObservedObject(path=member.path, state=TRANSITIONAL)  # somebody is at it
        if not found:
            if silence is not None:
                raise silence
            return ObservedObject(path=member.path, state=ABSENT)
        state, error = _fold(found)
        mark = next(iter(found.values()))[1]
        return ObservedObject(path=member.path, state=state, facts={"id": name}, revision=mark.revision, error=error)

    def all(self, call: Call) -> list[FoundObject]:
        """What carries our mark, on any node."""
        there: dict[str, dict[str, tuple[bool, Mark]]] = {}
        for node in self._in_use():
            for name in filter(is_ours, node.ask(call, _names)):
                if (sight := _observe(node, name, call)) is not None:
                    there.setdefault(name, {})[node.name] = sight
        found = []
        for name, sights in there.items():
            mark = next(iter(sights.values()))[1]
            state, facts = _fold(sights)[0], {"id": name}
            found.append(FoundObject(id=name, token=mark.token, state=state, path=mark.path, facts=facts, kind=KIND))
        return found

    def _meant(self, verb: str, name: str, member: Member, order: str, call: Call) -> Mark:
        """What is to be on every node."""
        found, silence = self._found(name, call)
        if verb == "deploy":
            digest = spec.digest(member.spec)
            if self._pool.is_spent(name):
                raise PermanentError(REMOVED)
            for _, mark in found.values():
                if mark.digest != digest:
                    raise PermanentError(OTHER_SPEC)
                return mark
            if silence is not None:
                raise silence
            return Mark(
                token=member.token,
                path=member.path,
                kind=KIND,
                revision=member.revision,
                digest=digest,
                order=order,
            )
        allowed, state = _MOVES[verb]
        if not found:
            if silence is not None:
                raise silence
            raise PermanentError("it is not there")
        for _, mark in found.values():
            if mark.state not in (*allowed, state):
                raise PermanentError(f"it is {mark.state or DEPLOYED}")
        return msgspec.structs.replace(next(iter(found.values()))[1], state=state)

    def _found(self, name: str, call: Call) -> tuple[dict[str, tuple[bool, Mark]], NoAnswer | None]:
        """By node: whether it is active, and its mark; and whether somebody did not answer."""
        found, silence = {}, None
        for node in self._in_use():
            try:
                if (sight := _observe(node, name, call)) is not None:
                    found[node.name] = sight
            except NoAnswer as error:
                silence = error
        return found, silence

    def _in_use(self) -> list[Node]:
        return [node for node in self._nodes if not self._pool.is_out(node.name)]

    def _everywhere(self, call: Call, deed: Callable[[Node], None]) -> None:
        silence: NoAnswer | None = None
        for node in self._in_use():
            try:
                deed(node)
            except NoAnswer as error:
                silence = error
        if silence is not None:
            raise silence


def _fold(found: dict[str, tuple[bool, Mark]]) -> tuple[str, str]:
    """The word for what nodes have, which is the same on all of them or broken."""
    words = {node: _word(active, mark) for node, (active, mark) in found.items()}
    if len({*words.values()}) > 1:
        return BROKEN, "; ".join(f"on {node} it is {word}" for node, word in sorted(words.items()))
    (word,) = {*words.values()}
    return (word, "its network is not active") if word == BROKEN else (word, "")


def _word(active: bool, mark: Mark) -> str:
    if active:
        return DEPLOYED
    return mark.state or BROKEN


def _observe(node: Node, name: str, call: Call) -> tuple[bool, Mark] | None:
    there = node.find(call, lambda c: _sight(c.networkLookupByName(name)))
    mark = marks.read(there[1]) if there is not None else None
    return None if there is None or mark is None else (there[0], mark)


def _sight(network: Any) -> tuple[bool, str]:
    return bool(network.isActive()), str(network.XMLDesc(0))


def _lead(node: Node, name: str, mark: Mark, anew: bool, call: Call) -> None:
    """Defined with that mark, and active if it says nothing against it.

    The definition comes first: whoever is put aside is not started again by a node that restarts."""
    there = _observe(node, name, call)
    active = there is not None and there[0]
    if there is None or there[1] != mark or active == bool(mark.state):
        node.act(call, lambda c: c.networkDefineXML(_definition(name, mark)))
    if active and (mark.state or anew):
        node.act(call, lambda c: c.networkLookupByName(name).destroy())
        active = False
        if _observe(node, name, call) != (
            False,
            mark,
        ):  # the test driver does not take over what was defined meanwhile
            node.act(call, lambda c: c.networkDefineXML(_definition(name, mark)))
    if not active and not mark.state:
        node.act(call, lambda c: c.networkLookupByName(name).create())
    node.act(call, lambda c: c.networkLookupByName(name).setAutostart(0 if mark.state else 1))


def _remove(node: Node, name: str, call: Call) -> None:
    there = _observe(node, name, call)
    if there is None:
        return
    if there[0]:
        node.act(call, lambda c: c.networkLookupByName(name).destroy())
    node.act(call, lambda c: c.networkLookupByName(name).undefine())


def _definition(name: str, mark: Mark) -> str:
    bridge = f"sv{name.removeprefix('stead-')[:12]}"  # a device's name has no more than 15 letters
    return (
        f"<network><name>{name}</name><uuid>{definitions.uuid_of(name)}</uuid>{marks.embedded(mark)}"
        f"<bridge name='{bridge}' stp='on' delay='0'/></network>"
    )


def _names(connection: Any) -> list[str]:
    return [network.name() for network in connection.listAllNetworks()]
