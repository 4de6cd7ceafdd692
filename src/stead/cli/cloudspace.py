"""`stead cloudspace`: private networks in which an account's machines run."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import CHANGED, CREATED, LANE, OBSERVED, OPERATION, PATH, STATE
from stead.cli.datacenter import datacenter_of, lane_of
from stead.cli.listing import Columns, counts
from stead.cli.noun import Noun
from stead.cli.paths import CloudspacePath
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import Resource

CLOUDSPACES: Columns[Resource] = Columns(
    narrow=(PATH, STATE, ("DATACENTER", lambda one: datacenter_of(one.lane)), OPERATION),
    wide=(("MEMBERS", lambda one: counts(one.members or {})), LANE, CHANGED, OBSERVED, CREATED),
)
CLOUDSPACE = Noun(
    "cloudspace",
    CloudspacePath,
    "a cloudspace",
    "cloudspaces",
    "acme/space",
    columns=CLOUDSPACES,
    show="its state, its operation, its spec, and the facts that the datacenter reported",
    verbs={
        "disable": "Disable a cloudspace for its users.",
        "enable": "Enable a disabled cloudspace.",
        "pause": "Stop the firewall of a cloudspace (admins only).",
        "resume": "Start the firewall of a cloudspace (admins only).",
        "reset": "Recreate the firewall of a cloudspace (admins only).",
        "delete": "Move a cloudspace to the recycle bin.",
        "restore": "Restore a cloudspace from the recycle bin.",
        "destroy": "Remove a deleted cloudspace for good.",
    },
)
app = CLOUDSPACE.app


@CLOUDSPACE.change("acme/space --datacenter dc", extra=("queue", "expect_agent"))
def deploy(
    options: ChangeOptions,
    path: CloudspacePath,
    datacenter: Annotated[str, typer.Option("--datacenter", metavar="NAME", help="Datacenter of the cloudspace.")],
    file: File = None,
    settings: Settings = None,
) -> None:
    """Create a cloudspace of an account in a datacenter."""
    change(options, path, "deploy", spec=spec_of(file, settings), lane=lane_of(datacenter))
