"""How a route is made: it gets the application behind the app, and queries that are authorized for its caller.

Every address that names an object has the object's namespace or its cell in it, so that a router in front of several
cells finds the one to ask without a look-up: `/v1/COLLECTION/NAMESPACE/…` or `/v1/cells/CELL/…`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from stead.api.identity import SAFE, Who, find_caller
from stead.api.problems import ProblemResponse
from stead.application.commands import Application
from stead.application.names import SEGMENT
from stead.application.queries import Queries

OWN_CELL = "-"
"""In an address: the cell of the server that answers."""


async def _application(request: Request) -> Application:
    application: Application = request.app.state.application
    return application


ApplicationDep = Annotated[Application, Depends(_application)]
"""The application behind the app that a request came to. Routes are made once, for all apps of a process."""


async def _queries(application: ApplicationDep, caller: Who) -> Queries:
    return application.queries(application.authorization.view(caller))


QueriesDep = Annotated[Queries, Depends(_queries)]
"""Queries under the permission of the caller."""


async def check_cell(
    request: Request,
    cell: Annotated[
        str,
        Path(
            pattern=f"^({SEGMENT}|{OWN_CELL})$",
            max_length=100,
            description="The cell that the object belongs to; `-` is the cell of the server that answers.",
        ),
    ],
) -> None:
    """Reject a request for another cell."""
    if cell not in (OWN_CELL, request.app.state.cell):
        raise ProblemResponse("other-cell", f"this server is not of the cell {cell}; send the request to one that is")


def router(tag: str, prefix: str = "") -> APIRouter:
    """A place to add routes to. In the description of the interface a route has the name of its function."""
    return APIRouter(
        prefix=prefix, tags=[tag], route_class=RetryingRoute, generate_unique_id_function=lambda route: route.name
    )


class RetryingRoute(APIRoute):
    """A route that is tried once more where a kind was registered at another server a moment ago."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        checks = [Depends(check_cell)] if "{cell}" in path else []
        super().__init__(
            path, endpoint, **{**options, "dependencies": [*(options.get("dependencies") or ()), *checks]}
        )

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await handle(request)
            except LookupError:
                # Nothing else is looked for in vain.
                if not (request.method in SAFE and await request.app.state.application.kinds.fresh()):
                    raise
                return await handle(request)

        return handler


def unguarded(routes: Iterable[BaseRoute]) -> list[str]:
    """The names of routes that do not identify the caller."""
    return [route.name for route in routes if isinstance(route, APIRoute) and not _asks(route.dependant)]


def _asks(dependant: Any) -> bool:
    return any(inner.call is find_caller or _asks(inner) for inner in dependant.dependencies)
