"""A running cell, examined."""

from __future__ import annotations

from stead.api.identity import Who
from stead.api.routing import ServiceDep, router
from stead.application import HealthReport

routes = router("health")


@routes.get("/v1/doctor")
async def examine(service: ServiceDep, caller: Who) -> HealthReport:
    """Database, schema, bus, controller, work, agents, identities: how each is, and what to do. For admins."""
    return await service.seen(caller).examination()
