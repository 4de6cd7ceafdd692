"""The lifecycles that the server knows: states, actions, moves, and what lint says; and how one is registered."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path as InPath
from pydantic import AfterValidator, ConfigDict

from stead.access.policies import LIFECYCLES
from stead.api.identity import Who
from stead.api.models import ResponseModel
from stead.api.problems import ProblemResponse, problem_response
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import InvalidDocument, RegisteredLifecycle
from stead.application.cell_commands import CellCommands
from stead.application.lifecycles import LifecycleDetail, LifecycleName
from stead.application.models import Page
from stead.application.names import SEGMENT
from stead.application.storable import storable

Kind = Annotated[str, InPath(pattern=f"^{SEGMENT}$", max_length=100, examples=["vm"])]


class LifecycleDocument(ResponseModel):
    """A lifecycle of an operator's own."""

    model_config = ConfigDict(extra="forbid")

    document: Annotated[str, AfterValidator(storable)]
    """In YAML."""


routes = router("lifecycles")


@routes.get("/v1/cells/{cell}/lifecycles")
async def list_lifecycles(queries: QueriesDep) -> Page[LifecycleName]:
    """The lifecycles that the server knows."""
    return Page(tuple(await queries.lifecycles()))


@routes.get("/v1/cells/{cell}/lifecycles/{kind}")
async def read_lifecycle(queries: QueriesDep, kind: Kind) -> LifecycleDetail:
    """A lifecycle: its states, actions and moves, and what lint says of it."""
    found = await queries.lifecycle(kind)
    if found is None:
        raise ProblemResponse("not-found", f"there is no lifecycle {kind}")
    return found


@routes.put("/v1/cells/{cell}/lifecycles/{kind}")
async def register_lifecycle(
    application: ApplicationDep, caller: Who, kind: Kind, body: LifecycleDocument
) -> RegisteredLifecycle:
    """Have a kind of one's own, or let it go by another document. It is linted and explored before, which may
    take a minute, and in force at every server and controller within a second."""
    authorized = application.authorization.require(caller, LIFECYCLES)
    found = await CellCommands(application).register(kind, body.document, authorized)
    if isinstance(found, InvalidDocument):
        raise problem_response(found)
    return found


@routes.delete("/v1/cells/{cell}/lifecycles/{kind}", status_code=204)
async def unregister_lifecycle(application: ApplicationDep, caller: Who, kind: Kind) -> None:
    """Let there be no such kind any more, of which there are no resources."""
    authorized = application.authorization.require(caller, LIFECYCLES)
    found = await CellCommands(application).unregister(kind, authorized)
    if found is not None:
        raise problem_response(found)
