"""A decision as it is written: a template, which many may share, and what is one resource's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from stead.lifecycle.snapshot import Fence, Holder
from stead.origin import Origin
from stead.store.decision_template import DecisionTemplate, OperationStart
from stead.store.masking import masked
from stead.store.resource_row import holder_of
from stead.store.summary import ResourceSummary

LANE = "lane"
"""The conflict of a namespace that may not use a lane."""


@dataclass(frozen=True, slots=True)
class Custody:
    """Who takes an order: an agent, in the epoch it is in."""

    agent: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be written about one resource."""

    summary: ResourceSummary
    template: DecisionTemplate
    principal: str = ""
    begin: OperationStart | None = None
    """The operation that begins."""
    facts: Mapping[str, Any] | None = None
    """What the provider said, to be laid over what is known."""
    spec: Mapping[str, Any] | None = None
    """What the action brings."""
    detail: Mapping[str, Any] | None = None
    """What the journal is to say beside the moves."""
    new: Mapping[str, Any] | None = None
    """Where there is no record yet: fence, lane, token and spec."""
    custody: Custody | None = None
    """Who takes the order."""
    around: Mapping[str, Any] | None = None
    """What has to be so around the resource, where it takes a claim."""
    origin: Origin | None = None
    """Where the request came from."""
    uses: Mapping[str, Any] | None = None
    """Lanes that its namespace has to be allowed to use: `{"of": namespace, "on": lanes}`."""

    def encode_shared(self, at: float) -> dict[str, Any]:
        """What it shares with other changes of the same template."""
        written = self.template.encode(at, self.principal)
        if self.custody is not None:
            written |= {"agent": self.custody.agent, "epoch": self.custody.epoch}
        if self.origin is not None:
            here = {"origin": self.origin.address, "request": self.origin.request}
            written |= {
                name: [{**line, **here} for line in written[name]] for name in ("journal_lines", "unchanged_lines")
            }
        return written if self.begin is None else {**written, "start_operation": self._begins(self.begin)}

    def _begins(self, begin: OperationStart) -> dict[str, Any]:
        begins: dict[str, Any] = {
            "id": str(begin.id),
            "action": begin.action,
            "kind": self.summary.kind,
            "path": self.summary.path,
            "principal": begin.principal,
            "reason": begin.reason,
            "request": dict(begin.request),
        }
        if begin.queue:
            begins |= {"queue": begin.queue, **({"waited": True} if begin.waited else {})}
        return begins | ({"key": begin.key, "fingerprint": begin.fingerprint} if begin.key else {})

    def encode_own(self) -> dict[str, Any] | None:
        """What no other resource has; None where there is nothing of that kind."""
        extra: dict[str, Any] = {}
        change = dict(self.detail or {})
        if self.facts:
            extra["facts"] = dict(self.facts)
            change |= self._learned(self.facts)
        if self.new is not None:
            extra |= {**self.new, "path": self.summary.path}
            change["spec"] = masked(self.new["spec"])
        if self.uses is not None:
            extra["uses"] = self.uses
        if self.template.respec == "set":
            extra["next"] = dict(self.spec or {})
        if self.template.takes_claim:
            extra["take"] = [{"path": path, "mode": "x"} for path in claimed(self.summary.path, self.around)]
            if self.around is not None:
                extra["around"] = self.around
        change |= self._respecified()
        if change:
            extra["change"] = change
        return extra or None

    def _learned(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        known = self.summary.decode_facts()
        learned = {name: value for name, value in facts.items() if known.get(name) != value}
        return {"facts": learned} if learned else {}

    def _respecified(self) -> dict[str, Any]:
        match self.template.respec:
            case "set":
                return {"next_spec": masked(self.spec or {})}
            case "next":
                return {"next_spec": None, "spec": masked(json.loads(self.summary.next_spec or "{}"))}
            case "dropped":
                return {"next_spec": None}
        return {}


def claimed(path: str, around: Mapping[str, Any] | None) -> list[str]:
    """The paths that an operation on a resource claims: its own, or its place below it, and what belongs to it."""
    around = around or {}
    return [around.get("place", path), *around.get("claims", ())]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A change was not written, because something else was first."""

    kind: str
    """`version`: read again and decide again. `claim`: see the holder. `key`: the same request was made before.
    `queue`: others wait before it. `gone`: it does not wait any more. `stopping`: the queue takes nothing more.
    `together`: it would not go together with what else there is. `changed`: it was planned on something else.
    `lifecycle`: that is another by now. `lane`: its namespace may not use a lane.
    """
    holder: Holder | None = None
    operation: str = ""
    same: bool = True
    """With `key`: it was the same request."""
    says: str = ""
    """With `together`: what does not."""
    refused: Mapping[str, Any] = field(default_factory=dict)
    """With `lane`: the namespace, the `lanes` that it may not use, and some `allowed` ones."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """How far an operation on a group has come in asking its members, with this commit."""

    operation: str
    after: str
    """The last member that was asked."""
    done: bool
    """All were asked."""
    acting: int
    turn: int = 0
    """Which of the things that were asked of them, where it was changed meanwhile."""
    skipped: Sequence[tuple[str, str, str]] = ()
    """Members that cannot follow, each with `skipped`, or `unchanged` where nothing has to be done, and with why."""
    joined: Sequence[tuple[int, UUID]] = ()
    """Ids of members on which the same action is in progress, each with that operation: they are waited for."""
    failed: int = 0
    """Members that count as failed, since nothing was requested of them that had to be done."""

    def written(self) -> dict[str, Any]:
        """As the commit function takes it."""
        return {
            "operation": self.operation,
            "after": self.after,
            "done": self.done,
            "acting": self.acting,
            "failed": self.failed,
            "turn": self.turn,
            "skipped": [{"path": path, "outcome": outcome, "says": says} for path, outcome, says in self.skipped],
            "joined": [{"id": id, "operation": str(operation)} for id, operation in self.joined],
        }


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What became of changes that were committed together."""

    conflicts: Mapping[int, Conflict]
    """By their place among the changes; all others are written."""
    orders: list[Mapping[str, Any]]
    """The orders that may be sent now, as agents are told of them."""
    recount: list[str]
    """Groups whose last member this was."""
    expanding: list[str] = field(default_factory=list)
    """Operations on groups, whose members are to be asked."""
    waiting: list[str] = field(default_factory=list)
    """Lanes on which orders wait for room."""
    queues: list[str] = field(default_factory=list)
    """Queues with requests that wait for what has ended."""
    steps: list[tuple[str, Fence]] = field(default_factory=list)
    """Resources for which a controller has something to do of its own, under this fence."""
    gone: list[str] = field(default_factory=list)
    """Resources that have ended, for good or until another request."""
    late: bool = False
    """With an expansion: nothing was written, since something had changed."""
    apart: list[str] = field(default_factory=list)
    """Resources that could not go where they were seen, because it does not go together with what else there is."""


def conflict_of(path: str, answer: Mapping[str, Any]) -> Conflict:
    """What the database says is in the way."""
    return Conflict(
        answer["conflict"],
        holder_of(answer.get("holder"), path),
        answer.get("operation") or "",
        answer.get("same", True),
        refused=answer if answer["conflict"] == LANE else {},
    )
