"""A running cell, examined."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from fastapi import APIRouter

from stead.api.identity import Judged, Who
from stead.api.models import Wire
from stead.controller.view import Service


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


def router(service: Service) -> APIRouter:
    """The route of the doctor."""
    routes = APIRouter(tags=["health"], route_class=Judged)

    @routes.get("/v1/doctor")
    async def examine(caller: Who) -> Examination:
        """Database, schema, bus, controller, work, agents, identities: how each is, and what to do. For admins."""
        return Examination.model_validate(await service.seen(caller).examination())

    return routes
