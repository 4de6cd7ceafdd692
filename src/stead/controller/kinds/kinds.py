"""The kinds of a cell: those that are built in, and those that somebody registered.

It is one object for all who decide, look and judge in a process, and it changes under them. What was registered
elsewhere is read within a second, and at once where somebody meets a kind or a state that is not known here. What
follows from all kinds is `Made` of them, and made anew when they have changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document import load
from stead.lifecycle.pace import Pace
from stead.lifecycle.rows import State
from stead.schema import Model
from stead.store import Store

log = logging.getLogger(__name__)

REFRESH_SECONDS = 0.5
"""Seconds between two looks at whether something was registered."""


@dataclass(frozen=True, slots=True)
class RegisteredLifecycle(Model):
    """How a kind came that is not built in."""

    version: int
    """Rises with every other document."""
    document: str
    """In YAML."""
    registered_by: str
    registered_at: datetime
    explored: Mapping[str, Any]
    """Within which bounds it was explored before it was put in force, and how much there was to see."""


class Kinds(Mapping[str, Lifecycle]):
    """Lifecycles by kind, as they are now.

    Whoever has read a resource of a kind, and looks the kind up by `[]`, finds it also where both have gone since.
    """

    def __init__(
        self, built_in: Mapping[str, Lifecycle], store: Store | None = None, pace: Pace | None = None
    ) -> None:
        """Without a store there are those that are built in, and no others."""
        self._store = store
        self._pace = pace
        self._built_in = {name: self._paced(kind) for name, kind in built_in.items()}
        self._known = self._built_in
        self._left: Mapping[str, Lifecycle] = {}
        self.registered: Mapping[str, RegisteredLifecycle] = {}
        """Those that are not built in."""
        self.versions: Mapping[str, int] = {}
        """Of these, and of those that were unregistered."""
        self.edition = 0
        """Rises with every change."""
        self._reading = asyncio.Lock()

    def __getitem__(self, kind: str) -> Lifecycle:
        known = self._known.get(kind)
        return known if known is not None else self._left[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._known

    def get(self, kind: str, default: Lifecycle | None = None) -> Lifecycle | None:  # type: ignore[override]
        """One that is in force."""
        return self._known.get(kind, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def built_in(self, kind: str) -> bool:
        """Whether a kind is one that nobody has registered."""
        return kind in self._built_in

    def knows(self, kind: str, state: str) -> bool:
        """Whether there is such a state of such a kind."""
        known = self._known.get(kind)
        return known is not None and known.has_state(state)

    def past_state(self, kind: str, state: str) -> State | None:
        """A state that something was in, of a kind that may have been unregistered since; None where it is gone."""
        known = self._known.get(kind) or self._left.get(kind)
        return known.state(state) if known is not None and known.has_state(state) else None

    async def find(self, kind: str) -> Lifecycle | None:
        """The lifecycle of a kind, which may have been registered a moment ago."""
        if kind not in self._known:
            await self.fresh()
        return self._known.get(kind)

    async def fresh(self) -> bool:
        """Read what was registered since the last time; whether there was anything."""
        if self._store is None:
            return False
        async with self._reading:
            edition = await self._store.lifecycles.read_edition()
            if edition == self.edition:
                return False
            self._take(await self._store.lifecycles.read_all())
            self.edition = edition
            return True

    async def heal(self) -> int:
        """The same, for whoever does it from time to time."""
        await self.fresh()
        return 0

    def _take(self, records: list[Mapping[str, Any]]) -> None:
        """Raises where a document cannot be used: to go without it would leave its resources to nobody."""
        registered: dict[str, RegisteredLifecycle] = {}
        known, left = dict(self._built_in), dict[str, Lifecycle]()
        for record in records:
            kind, before = record["kind"], self.registered.get(record["kind"])
            same = before is not None and before.document == record["document"]
            lifecycle = self._known[kind] if same else self._paced(load(record["document"], kind))
            if not record["in_force"]:
                left[kind] = lifecycle
                continue
            if kind in self._built_in:
                raise ValueError(f"{kind} is built in by now, and was registered before: unregister it first")
            said = [record[name] for name in ("version", "document", "registered_by", "registered_at", "explored")]
            registered[kind], known[kind] = RegisteredLifecycle(*said), lifecycle
        self.versions = {record["kind"]: record["version"] for record in records}
        self.registered, self._known, self._left = registered, known, left

    def _paced(self, kind: Lifecycle) -> Lifecycle:
        return kind if self._pace is None else replace(kind, pace=self._pace)


def live(kinds: Mapping[str, Lifecycle], store: Store | None = None) -> Kinds:
    """The kinds themselves, or those of a plain mapping."""
    return kinds if isinstance(kinds, Kinds) else Kinds(kinds, store)


class CompiledKind[T]:
    """Something that follows from all kinds."""

    def __init__(self, kinds: Kinds, make: Callable[[Mapping[str, Lifecycle]], T]) -> None:
        self._kinds = kinds
        self._make = make
        self._edition = kinds.edition
        self._made = make(kinds)

    def __call__(self) -> T:
        """As it is now."""
        if self._edition != self._kinds.edition:
            self._edition, self._made = self._kinds.edition, self._make(self._kinds)
        return self._made


def actions_of(kinds: Mapping[str, Lifecycle]) -> tuple[str, ...]:
    """The actions of all kinds."""
    return tuple(sorted({action.name for kind in kinds.values() for action in kind.actions}))
