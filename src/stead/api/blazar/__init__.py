"""Leases and hosts in the words of OpenStack's Blazar: its paths, its JSON, its dates and its expressions."""

from __future__ import annotations

from fastapi import APIRouter

from stead.api.blazar import hosts, leases
from stead.api.identity import Judged
from stead.controller.view import Service

__all__ = ["router"]


def router(service: Service) -> APIRouter:
    """The routes of the dialect."""
    routes = APIRouter(prefix="/blazar/{ns}/v1", tags=["blazar"], route_class=Judged)
    for part in (leases, hosts):
        routes.include_router(part.router(service))
    return routes
