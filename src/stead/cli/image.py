"""`stead image`: images from which the first disks of machines are created."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import CHANGED, CREATED, OBSERVED, OPERATION, PATH, STATE
from stead.cli.datacenter import above, datacenter_of, lane_of, last
from stead.cli.listing import Columns
from stead.cli.noun import Noun
from stead.cli.paths import ImagePath
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import Resource

IMAGES: Columns[Resource] = Columns(
    narrow=(PATH, STATE, ("SOURCE", lambda one: str(one.spec.get("file", ""))), OPERATION),
    wide=(("DATACENTER", lambda one: datacenter_of(one.lane)), CHANGED, OBSERVED, CREATED),
)
IMAGE = Noun(
    "image",
    ImagePath,
    "an image",
    "images",
    "dc/debian",
    columns=IMAGES,
    show="its state, its operation, its spec, and the facts that the datacenter reported",
    verbs={
        "disable": "Disable an image, so that no machine is created from it.",
        "enable": "Enable a disabled image.",
        "delete": "Move an image to the recycle bin.",
        "restore": "Restore an image from the recycle bin.",
        "destroy": "Remove an image for good.",
    },
)
app = IMAGE.app


@IMAGE.change("dc/debian --from /srv/debian-12.qcow2", extra=("queue", "expect_agent"))
def create(
    options: ChangeOptions,
    path: ImagePath,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="File to copy, on the machine of the datacenter's agent."),
    ] = None,
    file: File = None,
    settings: Settings = None,
) -> None:
    """Store an image in a datacenter, as a copy of a file."""
    spec = spec_of(file, settings, file=source)
    if not spec.get("file"):
        raise typer.BadParameter("an image needs a file to copy", param_hint="--from, --file")
    change(options, path, "create", spec=spec, lane=lane_of(last(above(path))))
