"""A running cell, examined."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from stead.api.identity import Who
from stead.api.models import Wire
from stead.api.routing import ServiceDep, router


class Finding(Wire):
    """What was looked at."""

    what: str
    grade: Literal["ok", "warn", "bad"]
    """`warn`: it works, and will be trouble. `bad`: it is trouble."""
    says: str
    do: str
    """What would help; empty where nothing is wrong."""


class Examination(Wire):
    """How a cell is."""

    at: datetime
    """By the server's clock."""
    version: str
    """Of the server."""
    findings: list[Finding]


routes = router("health")


@routes.get("/v1/doctor")
async def examine(service: ServiceDep, caller: Who) -> Examination:
    """Database, schema, bus, controller, work, agents, identities: how each is, and what to do. For admins."""
    return Examination.model_validate(await service.seen(caller).examination())
