"""The lifecycles that the server knows: states, actions, moves, and what lint says."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from fastapi import Path as InPath

from stead.api.identity import Judged, Known
from stead.api.models import SEGMENT, Wire
from stead.api.problems import Trouble
from stead.controller.view import Service


class LifecycleState(Wire):
    """A state."""

    name: str
    state_class: Literal["settled", "moving", "final", "absent"]
    says: str
    bad: bool
    """Failure leads there, or nobody knows what it is."""
    deadline: int | None
    """Seconds that a moving state may last before the object is probed."""
    awaits: str | None
    """Whose word a moving state waits for."""


class LifecycleAction(Wire):
    """What somebody may ask for, and how it goes."""

    name: str
    says: str
    starts: list[str]
    through: list[str]
    ends: str
    """Where success leads; `(back)` for where it began."""
    fails: str
    """Where failure leads; empty where it cannot fail."""
    by: list[str]
    """Actors who may ask."""
    undo: str
    forceable: bool
    steers: str
    """Not an operation of its own: a word to the running operation of this action."""


class LifecycleMove(Wire):
    """One edge."""

    source: str
    trigger: str
    on: str
    actor: str
    target: str
    forced: bool


class LifecycleFinding(Wire):
    """A hole in a lifecycle, and how to mend it."""

    rule: str
    where: str
    says: str
    mend: str


class ExploredSize(Wire):
    """How much there was to see when it was explored in full; nothing of it was as it must not be."""

    worlds: int
    steps: int


class LifecycleName(Wire):
    """A lifecycle in brief."""

    kind: str
    family: str
    says: str
    parent: str
    """The kind above it in the tree."""
    members: str
    """Of a group: the kind of its members."""
    states: int
    actions: int
    moves: int
    findings: int


class LifecycleNames(Wire):
    """All lifecycles in brief."""

    items: list[LifecycleName]


class WholeLifecycle(Wire):
    """A lifecycle whole."""

    kind: str
    family: str
    says: str
    parent: str
    members: str
    states: list[LifecycleState]
    """The first is where an object begins."""
    actions: list[LifecycleAction]
    moves: list[LifecycleMove]
    """Every one there is."""
    findings: list[LifecycleFinding]
    explored: ExploredSize | None
    """Null for a lifecycle that is not built in."""


def router(service: Service) -> APIRouter:
    """The routes of lifecycles."""
    routes = APIRouter(tags=["lifecycles"], route_class=Judged)

    @routes.get("/v1/lifecycles")
    async def list_lifecycles(caller: Known) -> LifecycleNames:
        """The lifecycles that the server knows."""
        return LifecycleNames(
            items=[_name(WholeLifecycle.model_validate(service.lifecycle(k))) for k in service.kinds]
        )

    @routes.get("/v1/lifecycles/{kind}")
    async def read_lifecycle(
        caller: Known,
        kind: Annotated[str, InPath(pattern=f"^{SEGMENT}$", max_length=100, examples=["vm"])],
    ) -> WholeLifecycle:
        """A lifecycle: its states, actions and moves, and what lint says of it."""
        found = service.lifecycle(kind)
        if found is None:
            raise Trouble("not-found", f"there is no lifecycle {kind}")
        return WholeLifecycle.model_validate(found)

    return routes


def _name(whole: WholeLifecycle) -> LifecycleName:
    return LifecycleName(
        **whole.model_dump(include={"kind", "family", "says", "parent", "members"}),
        states=len(whole.states),
        actions=len(whole.actions),
        moves=len(whole.moves),
        findings=len(whole.findings),
    )
