"""The console's files: one page for every address below `/console/`, and beside it what that page needs."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from stead.console import folder

POLICY = "; ".join(
    [
        "default-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # positions of bars and rows are styles of their elements
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
FOREVER = "public, max-age=31536000, immutable"
"""Names of assets have a hash of what is in them."""
ASSETS = "assets"


routes = APIRouter(include_in_schema=False)
ROOT = folder()


@routes.get("/")
@routes.get("/console")
async def console() -> RedirectResponse:
    return RedirectResponse("/console/", headers=HEADERS)


@routes.get("/console/{path:path}")
async def page(path: str) -> Response:
    first = path.partition("/")[0]
    found = _file(ROOT, path)
    if found is not None:
        caching = FOREVER if first == ASSETS else "no-cache"
        return FileResponse(found, headers={**HEADERS, "Cache-Control": caching})
    if first == ASSETS:
        raise HTTPException(404)
    return FileResponse(ROOT / "index.html", headers={**HEADERS, "Cache-Control": "no-store"})


def _file(root: Path, path: str) -> Path | None:
    """The file of that name, if there is one in the folder; the page itself is none."""
    if "\0" in path:
        return None
    found = (root / path).resolve()
    inside = found.is_relative_to(root) and found != root / "index.html"
    return found if inside and found.is_file() else None
