"""Which changes go together in one commit: no two that would stand in each other's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead.lifecycle.claims import ancestors
from stead.store import Row
from stead.store.commit import claimed
from stead.store.decision_template import DecisionTemplate

if TYPE_CHECKING:
    from stead.controller.execution.executor import TransitionInput


class BatchConflicts:
    """What is being changed in one round: no two that would stand in each other's way are in the same."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.claimed: set[str] = set()
        self.also: set[str] = set()
        """Those of them that are not the path of the resource itself, which may come more than once."""
        self.above: set[str] = set()
        self.keys: set[tuple[str, str]] = set()

    def free(self, path: str) -> bool:
        """Whether nobody has changed it in this round."""
        return path not in self.paths

    def meets(self, said: TransitionInput, answer: DecisionTemplate, row: Row | None) -> bool:
        """Whether it has to wait for another; otherwise it is counted in."""
        claims = answer.takes_claim
        places = claimed(said.path, row.around if row is not None else None) if claims else []
        above = {path for place in places for path in ancestors(place)}
        keys = _keys(said, row)
        if not self.keys.isdisjoint(keys):
            return True
        if not self.above.isdisjoint(places) or not self.claimed.isdisjoint(above.union(places[1:])):
            return True
        if not self.also.isdisjoint(places):
            return True
        self.paths.add(said.path)
        self.keys |= keys
        self.claimed.update(places)
        self.also.update(places[1:])
        self.above.update(above)
        return False


def _keys(said: TransitionInput, row: Row | None) -> set[tuple[str, str]]:
    """What only one in a round may have: an idempotency key, a turn in a queue, and room where there is a quota."""
    begin = said.begin
    if row is not None and row.around is not None and "makes" in row.around:
        return _keys(said, None) | {("quota", ancestors(said.path)[1])}
    if begin is None:
        return set()
    keys = {("queue", begin.queue)} if begin.queue else set()
    return keys | {(said.principal, begin.key)} if begin.key else keys
