"""Metrics, for Prometheus and whatever else reads its format."""

from __future__ import annotations

from fastapi import Response

from stead.api.routing import QueriesDep, router
from stead.telemetry.exposition import CONTENT_TYPE

routes = router("health")


@routes.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def read_metrics(queries: QueriesDep) -> Response:
    """What this server and its controller count, and the cell in numbers. For whoever may see the whole cell."""
    return Response(await queries.metrics(), media_type=CONTENT_TYPE)
