"""Whether the process lives, and whether it can do its work."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated

from fastapi import Query
from fastapi.responses import PlainTextResponse

from stead import __version__
from stead.api.routing import ApplicationDep, router
from stead.application.commands import Check

log = logging.getLogger(__name__)

PATIENCE = 3.0
"""Seconds that a check may take."""


routes = router("health")


@routes.get("/livez", response_class=PlainTextResponse)
async def livez() -> str:
    """The process answers. Whether anything it depends on does is not asked."""
    return "ok\n"


@routes.get(
    "/readyz",
    response_class=PlainTextResponse,
    responses={503: {"description": "Not ready", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def readyz(
    application: ApplicationDep,
    verbose: Annotated[str | None, Query(description="A line for each check, and the version.")] = None,
) -> PlainTextResponse:
    """Requests can be taken: everything that is needed for that answers."""
    checks = application.readiness()
    names = list(checks)
    well = dict(zip(names, await asyncio.gather(*(_well(n, checks[n]) for n in names)), strict=True))
    lines = [f"[{'+' if ok else '-'}] {name} {'ok' if ok else 'failed'}" for name, ok in well.items()]
    ready = all(well.values())
    if verbose is not None:
        lines.append(f"version {__version__}")
    shown = lines if verbose is not None or not ready else []
    return PlainTextResponse("\n".join([*shown, "ok" if ready else "not ready", ""]), 200 if ready else 503)


async def _well(name: str, check: Check) -> bool:
    try:
        async with asyncio.timeout(PATIENCE):
            await check()
    except Exception as error:
        log.warning("the check %s failed: %r", name, error)
        return False
    return True
