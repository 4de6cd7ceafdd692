"""How a route is made: it gets the engine behind the app, and its answer is sent only after a permission check."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from stead.access.caller import Caller
from stead.api.identity import SAFE, find_caller
from stead.application import Application


async def _service(request: Request) -> Application:
    service: Application = request.app.state.service
    return service


ServiceDep = Annotated[Application, Depends(_service)]
"""The engine behind the app that a request came to. Routes are made once, for all apps of a process."""


def router(tag: str, prefix: str = "") -> APIRouter:
    """A place to add routes to. In the description of the interface a route has the name of its function."""
    return APIRouter(
        prefix=prefix, tags=[tag], route_class=AuthorizedRoute, generate_unique_id_function=lambda route: route.name
    )


class AuthorizedRoute(APIRoute):
    """A route whose answer is sent only after the caller's permission was checked."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                answer = await handle(request)
            except LookupError:
                # A kind that was registered at another server a moment ago: nothing else is looked for in vain.
                if not (request.method in SAFE and await request.app.state.service.kinds.fresh()):
                    raise
                answer = await handle(request)
            caller: Caller | None = getattr(request.state, "caller", None)
            if caller is not None and not caller.judged:
                raise RuntimeError(f"{self.name} did not check the caller's permission")
            return answer

        return handler


def unguarded(routes: Iterable[BaseRoute]) -> list[str]:
    """The names of routes that do not identify the caller."""
    return [route.name for route in routes if isinstance(route, APIRoute) and not _asks(route.dependant)]


def _asks(dependant: Any) -> bool:
    return any(inner.call is find_caller or _asks(inner) for inner in dependant.dependencies)
