"""Systems: the tree of one, and what a deploy would do. What is asked of a system is asked as of any resource."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from stead.api.identity import Who
from stead.api.problems import ProblemResponse, problem_response
from stead.api.resources import Where
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import ActionRequest, authorized_commands
from stead.application.storable import storable
from stead.application.systems import DEPLOY, SYSTEM, System, SystemPlan


class PlanRequest(BaseModel):
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
async def read_system(queries: QueriesDep, path: Where) -> System:
    """A system with all its services and jobs, and the deploys that run on it."""
    found = await queries.system(f"/{path}")
    if found is None:
        raise ProblemResponse("not-found", f"there is no system /{path}")
    return found


@routes.post("/v1/plans/{path:path}")
async def plan_deploy(application: ApplicationDep, caller: Who, path: Where, body: PlanRequest) -> SystemPlan:
    """What a deploy would do: what is added, changed, scaled, restarted, removed. Nothing is done."""
    expect = body.expect_agent
    asked = ActionRequest(
        path=f"/{path}",
        action=DEPLOY,
        kind=SYSTEM,
        expect_agent=expect,
        spec=body.model_dump(exclude={"expect_agent"}),
    )
    answer = await authorized_commands.plan_deploy(application, asked, caller)
    if not isinstance(answer, SystemPlan):
        raise problem_response(answer)
    return answer
