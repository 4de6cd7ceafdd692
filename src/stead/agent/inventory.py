"""What an agent tells of the objects that a provider has: in the form and within the bounds that the bus carries.

A provider may return anything: tags that were copied, cut off or left out, values without end. One object that cannot
be told is left out with a warning, and the others are told.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from stead.bus.messages import OrderMember, StateLine
from stead.drivers.base import TRANSITIONAL, VM, FoundObject, ObservedObject
from stead.lifecycle.snapshot import FIRST, Fence

log = logging.getLogger(__name__)

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")
"""A key that can be typed, and stands in an address."""

_lines = msgspec.json.Decoder(StateLine)


class OwnedObjects:
    """The objects of resources on record: by token, and by the provider's id as far as it is known."""

    def __init__(self) -> None:
        self._ids: defaultdict[str, set[str]] = defaultdict(set)
        self._known: set[tuple[str, str]] = set()

    def add(self, member: OrderMember, seen: ObservedObject | None) -> None:
        """A resource on record, and what was seen of it."""
        ids = {id for facts in (member.facts, seen.facts if seen else {}) if (id := _text(facts.get("id")))}
        self._ids[member.token] |= ids
        self._known |= {(member.kind, id) for id in ids}

    def knows(self, token: str) -> bool:
        """Whether it is the token of a resource on record."""
        return token in self._ids

    def has(self, found: FoundObject) -> bool:
        """Whether it belongs to one of them. A copied token makes no owner, where the owner's id is another."""
        id = _text(found.facts.get("id"))
        if (found.kind, id) in self._known:
            return True
        if not found.token or found.token not in self._ids:
            return False
        ids = self._ids[found.token]
        return not ids or not id or id in ids


def strays(found: Iterable[FoundObject], owned: OwnedObjects) -> Iterator[StateLine]:
    """Objects that carry our tag and belong to no resource on record, each under a key of its own: its token; or the
    provider's id, where there is no token, or another object has the same."""
    settled = [one for one in found if one.state != TRANSITIONAL]
    tokens = Counter(one.token for one in settled)
    for one in settled:
        if owned.has(one):
            continue
        own = tokens[one.token] == 1 and not owned.knows(one.token)
        key = (one.token if own else "") or one.id
        if not key:
            log.warning("an object without token and id is left out: %s", repr(one)[:300])
            continue
        yield from _stray(key if PLAIN.fullmatch(key) else str(uuid5(NAMESPACE_URL, _plain(key))), one)


def _stray(key: str, found: FoundObject) -> Iterator[StateLine]:
    named = {"path": found.path, "id": found.id} | ({"kind": found.kind} if found.kind != VM else {})
    for facts in ({**found.facts, **named}, {"id": found.id[:1000]}):
        if line := _carried(fence=FIRST, observed=found.state, token=key, facts=facts):
            yield line
            return
    log.warning("an object that cannot be told is left out: %s", repr(found)[:300])


def line_of(path: str, fence: Fence, seen: ObservedObject) -> StateLine | None:
    """What was seen of a resource; None, with a warning, where that cannot be told."""
    for facts in (dict(seen.facts), {}):
        line = _carried(fence=fence, observed=seen.state, path=path, revision=seen.revision, facts=facts)
        if line is not None:
            return line
    log.warning("what was seen of %s cannot be told: %s", path, repr(seen)[:300])
    return None


def facts_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that can be told and kept; without them, with a warning, where they cannot."""
    line = _carried(fence=FIRST, observed="facts", path="/facts", facts=dict(facts)) if facts else None
    if line is None and facts:
        log.warning("facts that cannot be told are left out: %s", repr(facts)[:300])
    return line.facts if line is not None else {}


def _carried(**fields: Any) -> StateLine | None:
    """The line as whoever gets it reads it."""
    try:
        return _lines.decode(msgspec.json.encode(StateLine(**fields)))
    except (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError):
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _plain(key: str) -> str:
    return key.encode(errors="backslashreplace").decode()
