"""New specs for what is there: whole ones, or some fields of the one that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stead.cli.output import Code, fail
from stead.cli.progress import How, change
from stead.cli.server_commands import reach
from stead.cli.spec_options import Spec


def respec(
    server: str, path: str, kind: str, how: How, whole: Spec | None, changed: Callable[[Spec], Spec], **wishes: Any
) -> None:
    """Update something to a spec: what is `changed` of the whole one that was given, or of the one that it has.

    Where it is changed, and somebody else changes it meanwhile, that is refused: nobody's word is lost.
    """
    if whole is None:
        with reach(server) as client:
            found = client.resource(path)
        if found.kind != kind:
            fail(f"{path} is a {found.kind}", Code.NOT_FOUND)
        spec = changed(dict(found.spec))
        if spec == found.spec:
            fail(f"{path} is as that says already", Code.USAGE)
        if not how.dry_run:
            wishes["if_match"] = found.etag
    else:
        spec = changed(whole)
    change(server, path, "update", how, kind=kind, spec=spec, **wishes)
