"""The hold of a restored cell, and its release."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query

from stead.access.policies import RELEASE
from stead.api.identity import Who
from stead.api.models import ResponseModel
from stead.api.routing import ApplicationDep, router
from stead.application.names import Below
from stead.application.recovery import Hold as Held
from stead.application.recovery import Recovery

routes = router("recovery")


class Hold(ResponseModel):
    """Whether a restored cell is held: it observes, and orders nothing that changes anything."""

    since: datetime | None
    """Null: it is not held."""
    orders: int
    """Orders that wait for the release."""
    released: list[str]
    """Paths at which, and below which, it acts all the same."""


@routes.get("/v1/cells/{cell}/recovery")
async def get_hold(application: ApplicationDep, caller: Who) -> Hold:
    """Whether the cell is held after a restore."""
    authorized = application.authorization.require(caller, RELEASE)
    return _shown(await Recovery(application).hold(authorized))


@routes.post("/v1/cells/{cell}/recovery/release")
async def release_hold(
    application: ApplicationDep,
    caller: Who,
    path: Annotated[Below, Query(description="At this path and below it; `/` releases the whole cell.")] = "/",
) -> Hold:
    """Let a restored cell act: orders that waited for the release are sent. The journal records it."""
    authorized = application.authorization.require(caller, RELEASE)
    return _shown(await Recovery(application).release(path, authorized))


def _shown(hold: Held) -> Hold:
    return Hold(since=hold.since, orders=hold.orders, released=list(hold.released))
