"""Reads what decisions on inputs are made on: resources in full for what a caller requests, in brief for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stead.controller.execution import preconditions
from stead.controller.execution.transition import TransitionInput
from stead.controller.kinds.kinds import Kinds
from stead.lifecycle.events import Request
from stead.store import ResourceSummary, Row, Store


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources as they were read, by path."""

    summaries: Mapping[str, ResourceSummary]
    rows: Mapping[str, Row]
    """Those that were read in full, with what is around them."""


class InputReader:
    """Reads the resources of inputs."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self.store = store
        self.kinds = kinds

    async def read(self, inputs: Sequence[TransitionInput], *, again: bool) -> Resources:
        """The resources of some inputs; `again` reads also those that came with an input."""
        rows = {} if again else {given.path: given.read for given in inputs if given.read is not None}
        full = [given.path for given in inputs if given.path not in rows and given.is_requested]
        others = [given.path for given in inputs if given.path not in rows and not given.is_requested]
        if full:
            rows |= await self.store.resources.read_many(full)
        summaries = await self.store.resources.read_summaries(others) if others else {}
        new = {given.path: given.new for given in inputs if given.new is not None}
        rows |= {path: row for path, row in new.items() if path not in rows and path not in summaries}
        summaries |= {path: row.summary for path, row in rows.items()}
        if not all(self.kinds.knows(one.kind, one.state) for one in summaries.values()):
            await self.kinds.fresh()  # registered a moment ago, by another process; or unregistered
            rows = {path: row for path, row in rows.items() if row.kind in self.kinds}
        await self._add_preconditions(inputs, rows, summaries)
        await self._add_amended(inputs, rows, summaries)
        return Resources(summaries, rows)

    async def _add_preconditions(
        self, inputs: Sequence[TransitionInput], rows: dict[str, Row], summaries: dict[str, ResourceSummary]
    ) -> None:
        """Lay what is around resources into the rows, as far as a decision on the inputs depends on it."""
        await preconditions.succeed(self.store, self.kinds, rows, summaries, inputs)
        requests = [
            (given.path, given.event, given.spec or {})
            for given in inputs
            if isinstance(given.event, Request) and not given.event.within
        ]
        await preconditions.set_in(self.store, self.kinds, rows, requests)
        made = [given for given in inputs if given.new is not None and given.is_within]
        await preconditions.make_room(self.store, rows, made)

    async def _add_amended(
        self, inputs: Sequence[TransitionInput], rows: dict[str, Row], summaries: Mapping[str, ResourceSummary]
    ) -> None:
        """Read in full what members get something laid over; the operation of their group holds the claim."""
        summaries = {given.path: summaries[given.path] for given in inputs if given.path in summaries.keys() - rows}
        amended = [g.path for g in inputs if g.path in summaries and self._amends(summaries[g.path], g)]
        if amended:
            read = await self.store.resources.read_many(amended)
            rows |= {path: replace(row, snapshot=replace(row.snapshot, blocked=None)) for path, row in read.items()}

    def amended(self, summary: ResourceSummary, given: TransitionInput, row: Row | None) -> TransitionInput:
        """The input with its spec laid over the one that is there, where the action does that."""
        if row is None or not self._amends(summary, given):
            return given
        spec: Mapping[str, Any] = {**row.spec, **(given.spec or {})}
        return replace(given, spec=spec)

    def _amends(self, summary: ResourceSummary, given: TransitionInput) -> bool:
        if not (given.action and summary.id and summary.kind in self.kinds):
            return False
        action = self.kinds[summary.kind].action(given.action)
        return action is not None and action.amends_spec
