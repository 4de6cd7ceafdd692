"""A running cell, examined."""

from __future__ import annotations

from stead.api.routing import QueriesDep, router
from stead.application import HealthReport

routes = router("health")


@routes.get("/v1/cells/{cell}/doctor")
async def examine(queries: QueriesDep) -> HealthReport:
    """Database, schema, bus, controller, work, agents, identities: how each is, and what to do. For admins."""
    return await queries.examination()
