"""The same engine in the words of CB-Tumblebug: its paths, query parameters and JSON names."""

from __future__ import annotations

from fastapi import APIRouter

from stead.api.identity import Judged
from stead.api.tumblebug import asking, looking, making
from stead.controller.view import Service

__all__ = ["router"]


def router(service: Service) -> APIRouter:
    """The routes of the dialect."""
    routes = APIRouter(prefix="/tumblebug/ns/{nsId}", tags=["tumblebug"], route_class=Judged)
    for part in (looking, making, asking):
        routes.include_router(part.router(service))
    return routes
