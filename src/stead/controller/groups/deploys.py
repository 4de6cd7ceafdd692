"""Deploys, teardowns and deletions of systems: what each service and job is asked, some at a time.

What is to be done follows from what is to be and what is there, and nobody else changes what is there meanwhile: so
whoever carries a deploy on, after a crash too, asks for the rest and for nothing twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid5

from stead.catalog import tree
from stead.catalog.tree import ExistingNode, TreeChange
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.files.decoded import InvalidDescription
from stead.lifecycle.rows import Actor
from stead.lifecycle.snapshot import OnFailure
from stead.store import Row, Store

KIND = "system"


async def planned(store: Store, system: Row, place: str, definition: Mapping[str, Any] | None) -> list[TreeChange]:
    """What is to be done at a place of a system; without a definition, all there is goes."""
    wanted = tree.parts(definition, place, root=place == system.path) if definition is not None else {}
    rows = await store.systems.read_definitions(place)
    there = {r["path"]: ExistingNode(r["kind"], r["state"], r["spec"], r["lane"]) for r in rows}
    return tree.changes(wanted, there, system.spec.get("lanes", ()))


async def deployed(store: Store, system: Row | None, place: str, definition: Mapping[str, Any] | None) -> set[str]:
    """The lanes on which a deploy makes or changes something; none where it cannot be, which is said elsewhere."""
    if system is None or system.kind != KIND:
        return set()
    try:
        return lanes_in(await planned(store, system, place, definition))
    except InvalidDescription:
        return set()


def lanes_in(changes: Sequence[TreeChange]) -> set[str]:
    """The lanes on which something is made or changed."""
    return {change.lane for change in changes if change.action != "delete"}


class Deploys:
    """Asks services and jobs."""

    def __init__(self, executor: TransitionExecutor) -> None:
        self.executor = executor

    async def some(
        self, operation: str, asking: Mapping[str, Any], limit: int
    ) -> tuple[Sequence[TransitionInput], str, bool]:
        """The next that are to be asked, the path of the last of them, and whether that is all.

        Raises `Wrong` where what is there has become such that it cannot be done.
        """
        wish, after = asking["wish"], asking["after"]
        system = await self.executor.store.resources.read(asking["path"])
        if system is None:
            return (), after, True
        definition = wish.get("spec", {}).get("definition", {}) if asking["action"] == "deploy" else None
        todo = await planned(self.executor.store, system, wish.get("place", asking["path"]), definition)
        left = [change for change in todo if change.path > after]
        some = left[:limit]
        told = [self._told(operation, asking, change) for change in some]
        return told, some[-1].path if some else after, len(left) <= limit

    def _told(self, operation: str, asking: Mapping[str, Any], change: TreeChange) -> TransitionInput:
        request = Request(
            change.action,
            Actor.CONTROLLER,
            reason=asking["reason"],
            on_failure=OnFailure(asking["wish"].get("on_failure", OnFailure.ROLLBACK)),
            within=True,
            on_conflict=OnConflict.REJECT,
            operation=operation,
            by=asking["principal"],
            revision=1,
        )
        new = None
        if change.action == "create":
            token = uuid5(UUID(operation), change.path)
            first = self.executor.first(change.kind)
            new = Row(change.path, change.kind, first, change.lane, token, change.spec)
        return TransitionInput(change.path, request, asking["principal"], spec=change.spec, new=new)
