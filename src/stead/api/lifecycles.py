"""The lifecycles that the server knows: states, actions, moves, and what lint says; and how one is registered."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path as InPath
from pydantic import AfterValidator, ConfigDict

from stead.api.identity import Known, Who
from stead.api.models import ResponseModel
from stead.api.problems import ProblemResponse, trouble
from stead.api.routing import ServiceDep, router
from stead.application import InvalidDocument, Page, RegisteredLifecycle
from stead.application.lifecycles import LifecycleDetail, LifecycleName, name_of
from stead.application.names import SEGMENT
from stead.application.storable import storable

Kind = Annotated[str, InPath(pattern=f"^{SEGMENT}$", max_length=100, examples=["vm"])]


class LifecycleDocument(ResponseModel):
    """A lifecycle of an operator's own."""

    model_config = ConfigDict(extra="forbid")

    document: Annotated[str, AfterValidator(storable)]
    """In YAML."""


routes = router("lifecycles")


@routes.get("/v1/lifecycles")
async def list_lifecycles(service: ServiceDep, caller: Known) -> Page[LifecycleName]:
    """The lifecycles that the server knows."""
    await service.kinds.fresh()
    found = [await service.lifecycle(kind) for kind in list(service.kinds)]
    return Page(tuple(name_of(one) for one in found if one is not None))


@routes.get("/v1/lifecycles/{kind}")
async def read_lifecycle(service: ServiceDep, caller: Known, kind: Kind) -> LifecycleDetail:
    """A lifecycle: its states, actions and moves, and what lint says of it."""
    found = await service.lifecycle(kind)
    if found is None:
        raise ProblemResponse("not-found", f"there is no lifecycle {kind}")
    return found


@routes.put("/v1/lifecycles/{kind}")
async def register_lifecycle(
    service: ServiceDep, caller: Who, kind: Kind, body: LifecycleDocument
) -> RegisteredLifecycle:
    """Have a kind of one's own, or let it go by another document. It is linted and explored before, which may
    take a minute, and in force at every server and controller within a second."""
    found = await service.register(kind, body.document, caller)
    if isinstance(found, InvalidDocument):
        raise trouble(found)
    return found


@routes.delete("/v1/lifecycles/{kind}", status_code=204)
async def unregister_lifecycle(service: ServiceDep, caller: Who, kind: Kind) -> None:
    """Let there be no such kind any more, of which there are no resources."""
    found = await service.unregister(kind, caller)
    if found is not None:
        raise trouble(found)
