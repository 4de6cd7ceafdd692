"""The one way in which a state changes: read, decide, commit, and once more where another commit was first.

Every way into the store goes through here, so there is one place where a decision becomes a change. A decision is
made on what was read; the store writes it only if that still holds. Inputs of different resources share a round.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import batched
from typing import Any

from stead.access.lane_use import not_allowed, used_by
from stead.batcher import Batcher
from stead.controller.execution.batch import Batch, BatchConflicts, change_of, is_unchanged
from stead.controller.execution.decision_cache import DecisionCache
from stead.controller.execution.input_reader import InputReader, Resources
from stead.controller.execution.request_context import RequestContexts
from stead.controller.execution.transition import Answer, Applied, TransitionInput
from stead.controller.kinds.kinds import live
from stead.lifecycle.decision import Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.snapshot import Fence, Snapshot
from stead.store import Conflict, Store
from stead.store.commit import LANE, CommitResult, Expansion

MAX_ATTEMPTS = 10
"""Rounds in which an input is decided anew because another commit was first."""

MAX_BATCH_INPUTS = 100
"""Inputs that are applied together, of those that come one by one."""

MAX_COMMIT_INPUTS = 1000
"""Inputs in one commit. Larger ones are no cheaper for each, and hold what they write for longer."""

CommitHook = Callable[[CommitResult], Awaitable[None]]
"""What comes after a commit: orders are sent, groups are counted. It never raises; what it leaves is found later."""

Widen = Callable[[Sequence[Answer]], Expansion]
"""The progress of a group's operation, from the answers of its members; it is committed with them."""


@dataclass(slots=True)
class PendingInput:
    """An input that is not answered for good yet."""

    input: TransitionInput
    answer: Answer = None
    met_claim: bool = False
    """A claim was in the way at commit; the input is decided once more: `decide` gives the best rejection."""
    rejection: Rejection | None = None
    """Found at commit, and final."""

    @property
    def request(self) -> tuple[str, Mapping[str, Any]]:
        """The action and the spec on which it depends what around the resource is read."""
        return (self.input.action, self.input.spec or {}) if self.input.action else ("", {})


@dataclass(slots=True)
class _Round:
    """The inputs of a round that are committed, and those that are left for the next."""

    later: list[PendingInput]
    batch: Batch = field(default_factory=Batch)
    committed: list[PendingInput] = field(default_factory=list)
    conflicts: BatchConflicts = field(default_factory=BatchConflicts)


class TransitionExecutor:
    """Applies inputs to resources, any number at once."""

    def __init__(self, store: Store, kinds: Mapping[str, Lifecycle], clock: Callable[[], float]) -> None:
        self.store = store
        self.kinds = live(kinds, store)
        self.clock = clock
        self.request_contexts = RequestContexts(store)
        self._reader = InputReader(store, self.kinds)
        self._decisions = DecisionCache(self.kinds)
        self._commit_hooks: list[CommitHook] = []
        self.apply_one = Batcher(self.apply, MAX_BATCH_INPUTS)
        """Apply an input together with others that come at the same time."""

    def first(self, kind: str) -> Snapshot:
        """How a resource begins: with fences above those of whatever was there before under the same path."""
        return Snapshot(self.kinds[kind].initial.name, Fence(self.store.incarnation, int(self.clock() * 1000)))

    def on_commit(self, hook: CommitHook) -> None:
        """Run a hook after every commit."""
        self._commit_hooks.append(hook)

    async def run_commit_hooks(self, written: CommitResult) -> None:
        """Do what follows from a commit."""
        for hook in self._commit_hooks:
            await hook(written)

    async def apply(self, inputs: Sequence[TransitionInput], widen: Widen | None = None) -> list[Answer]:
        """Apply inputs, one to each resource at a time; with `widen` all are written, or none."""
        if widen is None and len(inputs) > MAX_COMMIT_INPUTS:
            return [answer for part in batched(inputs, MAX_COMMIT_INPUTS) for answer in await self.apply(part)]
        every = [PendingInput(given) for given in inputs]
        pending = every
        # Inputs that share a resource, a key or a claim go one after the other, each in a round of its own.
        rounds = MAX_ATTEMPTS + (len(inputs) if widen is None else 0)
        for attempt in range(rounds):
            pending = await self._round(every, pending, widen, again=attempt > 0)
            if not pending:
                break
        return [item.answer for item in every]

    async def _round(
        self, every: list[PendingInput], pending: list[PendingInput], widen: Widen | None, *, again: bool
    ) -> list[PendingInput]:
        """Read, decide, commit; what is still pending came too late, or meets another input of this round."""
        now, later = _apart(pending)
        read = await self._reader.read([item.input for item in now], again=again)
        this = _Round(later)
        for item in now:
            self._decide(item, read, this)
        if not this.committed and widen is None:
            return later
        expansion = widen([item.answer for item in every]) if widen is not None else None
        written = await self.store.transitions.commit(this.batch.changes, self.clock(), expansion)
        await self._answer_conflicts(this, written)
        if written.late or (widen is not None and written.conflicts):
            return every
        this.batch.add_consequences(written)
        await self.run_commit_hooks(written)
        return later

    def _decide(self, item: PendingInput, read: Resources, this: _Round) -> None:
        """Decide on an input; what is to be written joins the round's batch, unless that has to wait."""
        given = item.input
        summary, row = read.summaries.get(given.path), read.rows.get(given.path)
        if summary is None or summary.kind not in self.kinds or not given.concerns(summary):
            item.answer = None
            return
        if item.rejection is not None:
            item.answer = item.rejection
            return
        item.answer = Conflict("version")  # unless it comes to more
        if not this.conflicts.free(given.path):
            this.later.append(item)
            return
        decided = self._decisions.decide(summary, row.snapshot if row else None, given, self.clock())
        if isinstance(decided, Rejection):
            item.answer = decided
            return
        writes = not is_unchanged(summary, decided, given)
        if writes and this.conflicts.meets(given, decided, row):
            this.later.append(item)
            return
        item.answer = Applied(summary, decided, writes)
        if writes:
            given = self._reader.amended(summary, given, row)
            used = used_by(self.kinds, summary, given.event, given.spec, row, given.deploys)
            this.batch.changes.append(change_of(summary, decided, given, row, used))
            this.committed.append(item)

    async def _answer_conflicts(self, this: _Round, written: CommitResult) -> None:
        """Answer the inputs that met a conflict at commit, or leave them for the next round."""
        if any(conflict.kind == "lifecycle" for conflict in written.conflicts.values()):
            await self.kinds.fresh()
        for place, conflict in written.conflicts.items():
            item = this.committed[place]
            item.answer = conflict
            if conflict.kind == LANE:
                item.rejection = not_allowed(conflict.refused, this.batch.changes[place].summary.state)
                item.answer = item.rejection
            if conflict.kind == "together":
                written.apart.append(item.input.path)
            if conflict.kind in ("version", "lifecycle") or (conflict.kind == "claim" and not item.met_claim):
                item.met_claim |= conflict.kind == "claim"
                this.later.append(item)


def _apart(pending: Sequence[PendingInput]) -> tuple[list[PendingInput], list[PendingInput]]:
    """Inputs that can be decided on together, and those for later.

    What is read around a resource depends on the request, and is read once in a round.
    """
    first: dict[str, tuple[str, Mapping[str, Any]]] = {}
    now: list[PendingInput] = []
    later: list[PendingInput] = []
    for item in pending:
        same = first.setdefault(item.input.path, item.request) == item.request
        (now if same else later).append(item)
    return now, later
