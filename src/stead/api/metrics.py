"""Metrics, for Prometheus and whatever else reads its format."""

from __future__ import annotations

from fastapi import APIRouter, Response

from stead.api.identity import Judged, Who
from stead.controller.view import Service
from stead.telemetry.exposing import KIND


def router(service: Service) -> APIRouter:
    """The route of metrics."""
    routes = APIRouter(tags=["health"], route_class=Judged)

    @routes.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def read_metrics(caller: Who) -> Response:
        """What this server and its controller count, and the cell in numbers. For whoever may see the whole cell."""
        return Response(await service.seen(caller).metrics(), media_type=KIND)

    return routes
