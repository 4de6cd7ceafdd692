"""`stead image`: what the first disks of machines are made from."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.action_commands import add_observing, add_verb
from stead.cli.columns import CHANGED, CREATED, OPERATION, PATH, SEEN, STATE
from stead.cli.datacenter import above, datacenter_of, lane_of, last, make
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns
from stead.cli.output import ListFormat
from stead.cli.paths import ImagePath
from stead.cli.progress import (
    DryRun,
    ExpectAgent,
    How,
    Key,
    Queueing,
    Wait,
    Why,
)
from stead.cli.server_commands import Output, Server, Timeout
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import DEFAULT_SERVER, Resource

KIND = "image"

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What the first disks of machines are made from.")

IMAGES: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        ("FROM", lambda one: str(one.spec.get("file", ""))),
        OPERATION,
    ),
    wide=(
        ("DATACENTER", lambda one: datacenter_of(one.lane)),
        CHANGED,
        SEEN,
        CREATED,
    ),
    name=lambda one: one.path,
)


@app.command(short_help="Store an image.", epilog="Example: stead image create dc/debian --from /srv/debian-12.qcow2")
def create(
    path: ImagePath,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE", help="What it is a copy of: a file where the datacenter's agent runs."
        ),
    ] = None,
    file: File = None,
    settings: Settings = None,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    expect_agent: ExpectAgent = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Store an image in a datacenter: a copy of a file that its agent can read."""
    spec = spec_of(file, settings, file=source)
    if not spec.get("file"):
        raise typer.BadParameter("say what it is a copy of", param_hint="--from, --file")
    how, lane = How(output, wait, timeout, dry_run, key, expect_agent), lane_of(last(above(path)))
    make(server, path, KIND, "create", how, spec, lane=lane, reason=reason, queue=queue)


for _action, _says in (
    ("disable", "Take an image out of use."),
    ("enable", "Put an image in use again."),
    ("delete", "Move an image to the recycle bin."),
    ("restore", "Take an image out of the recycle bin."),
    ("destroy", "Remove an image for good."),
):
    add_verb(app, KIND, ImagePath, _action, _says, "dc/debian")


add_observing(app, KIND, ImagePath, "dc/debian")
add_list(app, KIND, IMAGES, "Images", "stead image list dc")
add_show(
    app,
    KIND,
    ImagePath,
    "An image, as it is or as it was.",
    "An image: its state, what is going on, its spec, and what the datacenter said of it.",
    "stead image show dc/debian -o yaml",
)
