"""`stead service` and `stead job`: the parts of systems. Deploys of their systems make, change and remove them."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.action_commands import add_observing
from stead.cli.columns import CHANGED, LANE, OPERATION, PATH, STATE
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns
from stead.cli.logs import add_logs
from stead.cli.output import ListFormat
from stead.cli.paths import any_path, complete_paths
from stead.cli.progress import DryRun, How, Key, Queueing, Wait, Why, change, on_conflict
from stead.cli.server_commands import Output, Server, Timeout
from stead.client import DEFAULT_SERVER, Resource

SERVICE, JOB = "service", "job"

service = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Services of systems.")
job = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Jobs of systems: programs that run to their end."
)


def _copies(one: Resource) -> str:
    up, wanted = (one.facts or {}).get("up"), one.spec.get("count", 1)
    return f"{wanted}" if up is None else f"{up}/{wanted}"


SERVICES: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        ("COPIES", _copies),
        LANE,
        OPERATION,
    ),
    wide=(
        ("RUNS", lambda one: " ".join(one.spec.get("command") or [one.spec.get("image", "")])),
        CHANGED,
    ),
    name=lambda one: one.path,
)
JOBS: Columns[Resource] = Columns(
    narrow=tuple(column for column in SERVICES.narrow if column[0] != "COPIES"),
    wide=SERVICES.wide,
    name=SERVICES.name,
)


def _path(kind: str, says: str) -> object:
    argument = typer.Argument(
        metavar=f"NS/SYSTEM/…/{kind.upper()}",
        help=says,
        callback=any_path,
        autocompletion=complete_paths(kind),
        show_default=False,
    )
    return Annotated[str, argument]


ServicePath = _path(SERVICE, "A service.")
JobPath = _path(JOB, "A job.")

add_observing(service, SERVICE, ServicePath, "shop/web/data/db")
add_observing(job, JOB, JobPath, "shop/web/data/load")
add_list(service, SERVICE, SERVICES, "Services", "stead service list shop/web --watch")
add_show(
    service,
    SERVICE,
    ServicePath,
    "A service, as it is or as it was.",
    "A service: its state, what is going on, its definition, and what its agent said of it.",
    "stead service show shop/web/data/db -o yaml",
)
add_logs(service, ServicePath, "a service", "stead service logs shop/web/data/db --follow")
add_list(job, JOB, JOBS, "Jobs", "stead job list shop/web")
add_show(
    job,
    JOB,
    JobPath,
    "A job, as it is or as it was.",
    "A job: whether it runs, succeeded or failed, its definition, and what its agent said of it.",
    "stead job show shop/web/data/load",
)
add_logs(job, JobPath, "a job", "stead job logs shop/web/data/load")


def run(
    path: str,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Run a job once more, as it is defined, and follow it to its end."""
    how = How(output, wait, timeout, dry_run, key)
    change(server, path, "run", how, kind=JOB, reason=reason, on_conflict=on_conflict(queue))


run.__annotations__["path"] = JobPath
job.command("run", short_help="Run a job once more.", epilog="Example: stead job run shop/web/data/load")(run)
