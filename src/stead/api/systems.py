"""Systems: the tree of one, and what a deploy would do. What is asked of a system is asked as of any resource."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from stead.api.identity import Who
from stead.api.models import Wire
from stead.api.problems import Trouble, trouble
from stead.api.resources import Where
from stead.api.routing import ServiceDep, router
from stead.api.storable import storable
from stead.controller.view import Asked
from stead.controller.view.systems import DEPLOY, SYSTEM
from stead.controller.view.systems import SystemPlan as Planned


class SystemPart(Wire):
    """A service or a job."""

    path: str
    kind: str
    """`service` or `job`."""
    state: str
    lane: str
    count: int
    """Copies that are to run."""
    up: int | None
    """Copies that were seen to run; null where nobody has said."""
    operation: str | None
    """What is under way."""


class RunningDeploy(Wire):
    """A deploy or a teardown that is under way."""

    id: UUID
    action: str
    place: str
    """Where it works; nobody else does there, above it or below it."""
    by: str
    since: datetime
    total: int
    """Services and jobs that follow, as far as they were asked."""
    remaining: int
    failed: int
    asked: bool
    """All that are to follow have been asked."""
    cancelled: bool


class System(Wire):
    """A system whole."""

    path: str
    state: str
    operation: str | None
    """What is under way on the system itself."""
    lanes: list[str]
    """Where its services run."""
    parts: list[SystemPart]
    running: list[RunningDeploy]


class SystemChange(Wire):
    """What becomes of a service or a job."""

    path: str
    kind: str
    action: str
    """What is asked of it."""
    how: str
    """`added`, `changed`, `scaled`, `restarted` or `removed`."""
    lane: str
    fields: list[str]
    """What is not as it was."""


class SystemPlan(Wire):
    """What a deploy would do with things as they are."""

    path: str
    place: str
    mark: str
    """A deploy that brings it in its spec is let in only while this is so."""
    changes: list[SystemChange]


class PlanAsk(BaseModel):
    """What is to be where."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    definition: Annotated[dict[str, Any], AfterValidator(storable)]
    """The tree of services and jobs that is to be there."""
    path: Annotated[str, StringConstraints(max_length=1000), AfterValidator(storable)] = "/"
    """The place in the system."""
    expect_agent: bool = False
    """Accept a lane that no agent has served yet: its agent comes later."""


routes = router("systems")


@routes.get("/v1/systems/{path:path}")
async def read_system(service: ServiceDep, caller: Who, path: Where) -> System:
    """A system with all its services and jobs, and the deploys that run on it."""
    found = await service.seen(caller).system(f"/{path}")
    if found is None:
        raise Trouble("not-found", f"there is no system /{path}")
    return System.model_validate(found)


@routes.post("/v1/plans/{path:path}")
async def plan_deploy(service: ServiceDep, caller: Who, path: Where, body: PlanAsk) -> SystemPlan:
    """What a deploy would do: what is added, changed, scaled, restarted, removed. Nothing is done."""
    expect = body.expect_agent
    asked = Asked(
        path=f"/{path}",
        action=DEPLOY,
        kind=SYSTEM,
        expect_agent=expect,
        spec=body.model_dump(exclude={"expect_agent"}),
    )
    answer = await service.plan(asked, caller)
    if not isinstance(answer, Planned):
        raise trouble(answer)
    return SystemPlan.model_validate(answer)
