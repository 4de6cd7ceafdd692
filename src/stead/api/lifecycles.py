"""The lifecycles that the server knows: states, actions, moves, and what lint says; and how one is registered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path as InPath
from pydantic import AfterValidator, ConfigDict

from stead.api.identity import Known, Who
from stead.api.models import SEGMENT, Wire
from stead.api.problems import Trouble, trouble
from stead.api.routing import ServiceDep, router
from stead.api.storable import storable
from stead.controller.view import Rejected

Kind = Annotated[str, InPath(pattern=f"^{SEGMENT}$", max_length=100, examples=["vm"])]


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
    respec: bool
    """It brings a new spec."""
    steers: str
    """Not an operation of its own: a word to the running operation of this action."""
    observes: bool
    """It observes the object, and changes nothing at the provider."""
    needs_reason: bool
    """A request has to say why."""


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


class RegisteredLifecycle(Wire):
    """How a kind came that is not built in."""

    version: int
    """Rises with every other document."""
    by: str
    at: datetime
    document: str
    """In YAML."""
    explored: dict[str, Any]
    """Within which bounds it was explored before it was put in force, and how much there was to see."""


class Document(Wire):
    """A lifecycle that somebody brings."""

    model_config = ConfigDict(extra="forbid")

    document: Annotated[str, AfterValidator(storable)]
    """In YAML."""


class LifecycleName(Wire):
    """A lifecycle in brief."""

    kind: str
    family: str
    says: str
    parent: str
    """The kind above it in the tree."""
    members: str
    """Of a group: the kind of its members."""
    version: int | None
    """Of a kind that was registered; null where it is built in."""
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
    """How much there was to see when it was explored in full."""
    registered: RegisteredLifecycle | None
    """Null where it is built in."""


routes = router("lifecycles")


@routes.get("/v1/lifecycles")
async def list_lifecycles(service: ServiceDep, caller: Known) -> LifecycleNames:
    """The lifecycles that the server knows."""
    await service.kinds.fresh()
    found = [await service.lifecycle(kind) for kind in list(service.kinds)]
    return LifecycleNames(items=[_name(WholeLifecycle.model_validate(one)) for one in found if one is not None])


@routes.get("/v1/lifecycles/{kind}")
async def read_lifecycle(service: ServiceDep, caller: Known, kind: Kind) -> WholeLifecycle:
    """A lifecycle: its states, actions and moves, and what lint says of it."""
    found = await service.lifecycle(kind)
    if found is None:
        raise Trouble("not-found", f"there is no lifecycle {kind}")
    return WholeLifecycle.model_validate(found)


@routes.put("/v1/lifecycles/{kind}")
async def register_lifecycle(service: ServiceDep, caller: Who, kind: Kind, body: Document) -> RegisteredLifecycle:
    """Have a kind of one's own, or let it go by another document. It is linted and explored before, which may
    take a minute, and in force at every server and controller within a second."""
    found = await service.register(kind, body.document, caller)
    if isinstance(found, Rejected):
        raise trouble(found)
    return RegisteredLifecycle.model_validate(found)


@routes.delete("/v1/lifecycles/{kind}", status_code=204)
async def unregister_lifecycle(service: ServiceDep, caller: Who, kind: Kind) -> None:
    """Let there be no such kind any more, of which there are no resources."""
    found = await service.unregister(kind, caller)
    if found is not None:
        raise trouble(found)


def _name(whole: WholeLifecycle) -> LifecycleName:
    return LifecycleName(
        **whole.model_dump(include={"kind", "family", "says", "parent", "members"}),
        version=whole.registered.version if whole.registered is not None else None,
        states=len(whole.states),
        actions=len(whole.actions),
        moves=len(whole.moves),
        findings=len(whole.findings),
    )
