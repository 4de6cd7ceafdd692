"""What the nodes of a datacenter really have, by libvirt's own word and by the files in the pool; and its rules.

There is no ledger of what happened to machines, so only what is there at the end is compared, and at no time a
machine may run on two nodes.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from typing import Any

from stead.catalog import KINDS
from stead.drivers.libvirt import marks
from stead.drivers.libvirt.pool import is_ours
from stead.lifecycle.decision import Outcome
from stead.lifecycle.rows import ABSENT, BROKEN
from tests.chaos.datacenter import LANE, Datacenter
from tests.chaos.history import History, Instance
from tests.drivers.libvirt_world import STATES

LATER = 2
"""Of a definition: as it is when the machine starts the next time."""


def read(place: Datacenter) -> list[Instance]:
    """Machines and disks, each as the word that its lifecycle has for it; of a machine, one for each node."""
    world = place.world
    found: list[Instance] = []
    disks: dict[str, str] = {}
    """By file, the machine that has it."""
    for node in place.nodes:
        for name, state, definition in world.ask(node, _domains):
            mark, note = marks.read(definition), world.pool.note("machines", name)
            if mark is None:
                continue
            here = note is None or note.node == node
            word = (mark.state if state == "HALTED" else "") or state
            where = f"{node}{'' if here else ', where it is not to be'}"
            found.append(Instance(name, mark.token, mark.path, where, word, kind="machine"))
            if here:
                disks |= dict.fromkeys(_files(definition), mark.path)
    for name in world.pool.names("disks"):
        note = world.pool.note("disks", name)
        file = world.folder / "disks" / f"{name}.img"
        if note is not None:
            word = note.mark or ("ASSIGNED" if str(file) in disks else "CREATED")
            found.append(Instance(name, note.token, note.path, "", word if file.exists() else BROKEN, kind="disk"))
    return found


def _domains(connection: Any) -> list[tuple[str, str, str]]:
    return [
        (one.name(), STATES.get(one.state()[0], BROKEN), one.XMLDesc(LATER))
        for one in connection.listAllDomains()
        if is_ours(one.name())
    ]


def _files(definition: str) -> list[str]:
    sources = ET.fromstring(definition).iterfind("devices/disk/source")
    return [source.get("file", "") for source in sources]


def moved(history: History) -> tuple[int, int]:
    """How many machines have moved unseen, and while how many of these somebody asked for something else."""
    moves = [op for op in history.ended if op.action == "migrate" and op.outcome == Outcome.SUCCEEDED]
    others = [op for op in history.ended if op.kind == "machine" and op.action != "migrate"]
    met = [
        move
        for move in moves
        if any(op.path == move.path and move.created_at < op.created_at < move.ended_at for op in others)
    ]
    return len(moves), len(met)


def runs_twice(history: History) -> Iterator[str]:
    """No machine runs on two nodes."""
    running = Counter(one.token for one in history.nodes if one.state in ("RUNNING", "PAUSED"))
    for token, times in running.items():
        if times > 1:
            there = [f"{one.state} on {one.lane}" for one in history.nodes if one.token == token]
            yield f"{token} runs {times} times: {' and '.join(there)}"


def believed(history: History) -> Iterator[str]:
    """Whatever is there has an owner that may have it, and what is believed of machines and disks is so."""
    there = {one.token: one for one in history.nodes if "," not in one.lane}
    owners = {resource.token: resource for resource in history.resources if resource.lane == LANE}
    for token, one in there.items():
        owner = owners.get(token)
        if owner is None or KINDS[owner.kind].state(owner.state).observed_as == ABSENT:
            state = "nobody's" if owner is None else f"of {owner.path}, which is {owner.state}"
            yield f"{one.kind} {one.id} on {one.lane or 'the pool'} is {one.state} and {state}"
    for owner in owners.values():
        word = KINDS[owner.kind].state(owner.state).observed_as
        found = there.get(owner.token)
        true = ABSENT if found is None else found.state
        if owner.kind in ("machine", "disk") and word and word != true:
            yield f"{owner.path} is believed {owner.state}, and libvirt has it as {true}"
        elif owner.kind == "machine" and word and found and owner.facts.get("node") != found.lane:
            yield f"{owner.path} is believed to be on {owner.facts.get('node')}, and is on {found.lane}"
