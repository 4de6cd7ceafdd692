"""Options that the commands of a cell's processes share."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.durations import period

Retention = Annotated[
    str,
    typer.Option(
        "--retention",
        envvar="STEAD_RETENTION",
        callback=period,
        help="Time that deleted machines, disks, images, cloudspaces and accounts stay in the recycle bin; the "
        "same for all controllers. What was deleted before keeps its time.",
    ),
]
