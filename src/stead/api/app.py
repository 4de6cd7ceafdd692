"""The app: all routes, on one engine."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse

from stead import __version__
from stead.api import (
    access,
    agents,
    audit,
    blazar,
    doctor,
    drift,
    explain,
    group_status,
    health,
    journal,
    lanes,
    leases,
    lifecycles,
    login,
    logs,
    metrics,
    operations,
    overview,
    problems,
    progress,
    queues,
    quotas,
    recovery,
    resources,
    scaling,
    site,
    stuck,
    systems,
    tumblebug,
)
from stead.api.identity import Identify, authenticated_caller, unauthenticated_caller
from stead.api.limits import LimitMiddleware, Limits
from stead.api.problem_codes import TITLES
from stead.api.problems import MEDIA, Problem
from stead.api.request_ids import RequestIds
from stead.api.routing import unguarded
from stead.application.commands import Application

TITLE = "Stead"
SUMMARY = """
What you run comes back to a steady state, and says why when it does not.

A change is answered with 202 and an operation, or refused with its reasons; nothing that was let in is lost.
Everything that is not an answer is a problem (RFC 9457). Its type is `urn:stead:problem:` and one of these codes:

"""


OPEN = {
    *("livez", "readyz", "console", "page"),
    *("read_login", "begin_session", "start_login", "complete_login", "end_session", "join_agent"),
}
"""The routes that everybody may use: whether the server lives, the files of the console, and the ways in, of people
and of agents, who show something of another kind."""

ROUTES = [
    *resources.routes.routes,
    *group_status.routes.routes,
    *explain.routes.routes,
    *operations.routes.routes,
    *progress.routes.routes,
    *stuck.routes.routes,
    *queues.routes.routes,
    *quotas.routes.routes,
    *leases.routes.routes,
    *systems.routes.routes,
    *scaling.routes.routes,
    *agents.routes.routes,
    *audit.routes.routes,
    *journal.routes.routes,
    *drift.routes.routes,
    *recovery.routes.routes,
    *logs.routes.routes,
    *overview.routes.routes,
    *lifecycles.routes.routes,
    *login.routes.routes,
    *access.routes.routes,
    *lanes.routes.routes,
    *health.routes.routes,
    *metrics.routes.routes,
    *doctor.routes.routes,
    *tumblebug.routes,
    *blazar.routes,
    *site.routes.routes,
]
"""Made once, for all apps of a process: that takes longer than any request."""
assert set(unguarded(ROUTES)) <= OPEN, "a route does not identify its caller"


def create_app(
    application: Application,
    *,
    cell: str = "main",
    identify: Identify | None = None,
    heartbeat: float = 15.0,
    limits: Limits | None = None,
) -> FastAPI:
    """The HTTP interface of an engine, in one cell. Streams send a heartbeat every `heartbeat` seconds.

    Without `limits`, what a request may be is limited as usual, and how often one comes is not.
    """
    app = FastAPI(
        title=TITLE,
        version=__version__,
        description=_description(),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    known = application.access
    app.state.application = application
    app.state.cell = cell
    app.state.feed = application.journal_feed()
    app.state.heartbeat = heartbeat
    app.state.identify = identify or (unauthenticated_caller if known is None else authenticated_caller(known))
    app.state.limits = limits or Limits()
    app.add_middleware(LimitMiddleware, limits=app.state.limits)
    app.add_middleware(RequestIds)
    problems.install(app, application.rejections)
    app.router.add_route("/v1/openapi.json", _openapi, include_in_schema=False)
    app.router.routes += ROUTES
    return app


@cache
def openapi() -> dict[str, Any]:
    """The description of the interface, the same object every time.

    Every error in it is a problem document, not the framework's own kind of error.
    """
    said = _with_names(get_openapi(title=TITLE, version=__version__, description=_description(), routes=ROUTES))
    schemas = said["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    made = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= made.pop("$defs", {}) | {"Problem": made}
    for field in made["properties"].values():
        if field.get("default", "") is None:
            del field["default"]  # it is left out where it is null
    said["components"]["schemas"] = dict(sorted(schemas.items()))
    problem = {"description": "A problem", "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for methods in said["paths"].values():
        for operation in methods.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = problem
    return said


def _with_names(said: dict[str, Any]) -> dict[str, Any]:
    """A page of truths is called `TruthPage`, and not after how its class is made."""
    return cast(dict[str, Any], json.loads(re.sub(r"\bPage_(\w+?)_(?=\")", r"\1Page", json.dumps(said))))


def _openapi(_: Request) -> Response:
    """In a thread, since the first one takes about a second to make, in which the server answers others."""
    return JSONResponse(openapi())


def _description() -> str:
    rows = [f"| `{code}` | {status} | {title} |" for code, (status, title) in TITLES.items()]
    return SUMMARY.lstrip() + "\n".join(["| code | status | title |", "|---|---|---|", *rows])
