"""Lifecycles that users have registered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from stead.lifecycle.definition import Lifecycle
from stead.store.statements import StorePart


class UncoveredResources(NamedTuple):
    """Resources that a document would leave without a rule."""

    what: str
    """`state`: they are in it; `action`: it is being done to them, or waits. `version`: there are none, but somebody
    has registered another document meanwhile."""
    name: str
    things: int


class Lifecycles(StorePart):
    """Registered lifecycles."""

    async def read_edition(self) -> int:
        """Rises with every change of all this."""
        (row,) = await self._sql.fetch("read_lifecycles_edition")
        return int(row["edition"])

    async def read_all(self) -> list[Mapping[str, Any]]:
        """All that are in force or were, in order of kind."""
        return [dict(r) for r in await self._sql.fetch("list_lifecycles")]

    async def find_uncovered(self, lifecycle: Lifecycle, same: Collection[str]) -> list[UncoveredResources]:
        """What would be in the way now if a document were put in force."""
        states = [state.name for state in lifecycle.states]
        (row,) = await self._sql.fetch("find_uncovered_resources", lifecycle.kind, states, sorted(same))
        return [UncoveredResources(**one) for one in row["in_the_way"]]

    async def register(
        self,
        lifecycle: Lifecycle,
        was: int,
        document: str,
        same: Collection[str],
        explored: Mapping[str, Any],
        who: str,
    ) -> list[UncoveredResources]:
        """Put a document in force; where anything is in the way, that, and nothing is changed.

        `was` is the version before, and `same` are the actions that it leaves as they are: only these may be under
        way.
        """
        states = [state.name for state in lifecycle.states]
        actions = [action.name for action in lifecycle.actions]
        rest = [states, actions, sorted(same), dict(explored), who]
        (row,) = await self._sql.fetch_audited("register_lifecycle", lifecycle.kind, was, document, *rest)
        return [UncoveredResources(**one) for one in row["in_the_way"]]

    async def unregister(self, kind: str, who: str) -> list[UncoveredResources]:
        """Let there be no such kind any more; where there is anything of it, that, and nothing is changed."""
        (row,) = await self._sql.fetch_audited("unregister_lifecycle", kind, who)
        return [UncoveredResources(**one) for one in row["in_the_way"]]
