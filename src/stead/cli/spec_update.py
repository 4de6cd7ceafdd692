"""New specs for existing resources: whole ones, or some fields of the one that a resource has."""

from __future__ import annotations

from collections.abc import Callable

from stead.cli.change import ChangeOptions, change
from stead.cli.output import Code, fail
from stead.cli.server_commands import reach
from stead.cli.spec_options import Spec


def update_spec(options: ChangeOptions, path: str, whole: Spec | None, changed: Callable[[Spec], Spec]) -> None:
    """Update a resource to a spec: what is `changed` of the whole one that was given, or of the one that it has.

    A spec that is changed carries its tag, so that the server rejects the update if another one came in between.
    """
    if whole is not None:
        change(options, path, "update", spec=changed(whole))
        return
    with reach(options.server) as client:
        found = client.resource(path)
    if found.kind != options.kind:
        fail(f"{path} is a {found.kind}", Code.NOT_FOUND)
    spec = changed(dict(found.spec))
    if spec == found.spec:
        fail(f"{path} has these values already", Code.USAGE)
    change(options, path, "update", spec=spec, if_match=found.etag)
