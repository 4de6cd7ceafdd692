"""`stead service` and `stead job`: the parts of systems, which deploys create, change and remove."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import CHANGED, LANE, OPERATION, PATH, STATE
from stead.cli.listing import Columns
from stead.cli.logs import add_logs
from stead.cli.noun import Noun
from stead.cli.paths import any_path, complete_paths
from stead.client import Resource


def _copies(one: Resource) -> str:
    up, wanted = (one.facts or {}).get("up"), one.spec.get("count", 1)
    return f"{wanted}" if up is None else f"{up}/{wanted}"


def _path(kind: str, description: str) -> object:
    argument = typer.Argument(
        metavar=f"NS/SYSTEM/…/{kind.upper()}",
        help=description,
        callback=any_path,
        autocompletion=complete_paths(kind),
        show_default=False,
    )
    return Annotated[str, argument]


SERVICES: Columns[Resource] = Columns(
    narrow=(PATH, STATE, ("COPIES", _copies), LANE, OPERATION),
    wide=(("COMMAND", lambda one: " ".join(one.spec.get("command") or [one.spec.get("image", "")])), CHANGED),
)
JOBS: Columns[Resource] = Columns(
    narrow=tuple(column for column in SERVICES.narrow if column[0] != "COPIES"), wide=SERVICES.wide
)
SERVICE = Noun(
    "service",
    _path("service", "A service."),
    "a service",
    "services",
    "shop/web/data/db",
    columns=SERVICES,
    show="its state, its operation, its definition, and the facts that its agent reported",
)
JOB = Noun(
    "job",
    _path("job", "A job."),
    "a job",
    "jobs",
    "shop/web/data/load",
    columns=JOBS,
    show="whether it runs, succeeded or failed, its definition, and the facts that its agent reported",
)
service, job = SERVICE.app, JOB.app
add_logs(service, SERVICE.path, "a service", "stead service logs shop/web/data/db --follow")
add_logs(job, JOB.path, "a job", "stead job logs shop/web/data/load")


def run(options: ChangeOptions, path: str) -> None:
    """Run a job again, as it is defined."""
    change(options, path, "run")


run.__annotations__["path"] = JOB.path
JOB.change("shop/web/data/load", extra=("queue",))(run)
