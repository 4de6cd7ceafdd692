"""Operations, and the claims they have."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from stead.api.models import Below, Claim, Claims, Operation, Operations
from stead.api.problems import Trouble
from stead.api.requests import Cursor, Limit, from_cursor, to_cursor
from stead.controller.view import Service


def router(service: Service) -> APIRouter:
    """The routes of operations and claims."""
    routes = APIRouter(tags=["operations"])

    @routes.get("/v1/operations")
    async def list_operations(
        below: Annotated[Below, Query(description="Only on this path or below it.")] = "/",
        running: Annotated[bool | None, Query(description="Only those under way, or only those that ended.")] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Operations:
        """Operations, the latest first; those under way in order of path."""
        page = await service.view.operations(below, running, from_cursor(cursor, int), limit)
        items = [Operation.model_validate(item) for item in page.items]
        return Operations(items=items, next=to_cursor(page.next), more=page.more)

    @routes.get("/v1/operations/{id}")
    async def read_operation(id: UUID) -> Operation:
        """An operation, under way or ended."""
        found = await service.view.operation(id)
        if found is None:
            raise Trouble("not-found", f"there is no operation {id}")
        return Operation.model_validate(found)

    @routes.get("/v1/claims")
    async def list_claims(
        below: Annotated[Below, Query(description="Only on this path or below it.")] = "/", limit: Limit = 100
    ) -> Claims:
        """Who may change what now."""
        page = await service.view.claims(below, limit)
        return Claims(items=[Claim.model_validate(item) for item in page.items], more=page.more)

    return routes
