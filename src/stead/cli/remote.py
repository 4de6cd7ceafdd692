"""What all commands share that speak to a server: its address, paths, and how they end when it says no."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any

import msgspec
import typer

from stead.cli.output import Code, ListFormat, fail, note
from stead.client import (
    DEFAULT_SERVER,
    Invalid,
    NotAllowed,
    NotFound,
    Outdated,
    Problem,
    ProblemError,
    Refused,
    SteadError,
    StillRunning,
    SyncClient,
)
from stead.lifecycle.document.words import seconds

INTERRUPTED = 130
"""How a command ends that somebody stopped by hand; shells expect this number."""

_PATH = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*)+")
_CODES: dict[type[ProblemError], Code] = {
    Refused: Code.REFUSED,
    Outdated: Code.REFUSED,
    NotAllowed: Code.NOT_ALLOWED,
    NotFound: Code.NOT_FOUND,
    Invalid: Code.USAGE,
}


@contextmanager
def reach(address: str, **options: Any) -> Iterator[SyncClient]:
    """A client; whatever goes wrong with it ends the command, with the exit code that says what it was."""
    try:
        with SyncClient(address, **options) as client:
            yield client
    except ProblemError as error:
        tell(error.problem)
        raise typer.Exit(_CODES.get(type(error), Code.FAILED)) from None
    except StillRunning as error:
        note(f"error: timed out: {error}; it goes on, see: stead operation wait {error.operation.id}")
        raise typer.Exit(Code.TIMED_OUT) from None
    except SteadError as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def tell(problem: Problem) -> None:
    """Say why not: the reasons, who is in the way, and what could be asked instead."""
    reasons = [(reason.code, reason.says) for reason in problem.reasons] or [(problem.code, problem.detail)]
    for code, says in reasons:
        note(f"error: {says or problem.title} [{code}]")
    if problem.current_state:
        note(f"  state: {problem.current_state}")
    for holder in problem.holders or filter(None, [problem.holder]):
        since = f" since {clock(holder.since)}" if holder.since else ""
        note(f"  held by: {holder.action} of {holder.path} by {holder.by}{since}, operation {holder.operation}")
    if problem.allowed_actions:
        note(f"  could be asked instead: {', '.join(problem.allowed_actions)}")
    if problem.retry_after is not None:
        note(f"  try again in {problem.retry_after} s")
    if problem.status >= 500 and problem.request_id:
        note(f"  request {problem.request_id}")


def plain(value: Any) -> Any:
    """For JSON and YAML."""
    return msgspec.to_builtins(value)


def clock(at: datetime | None) -> str:
    """A time, to the second."""
    return "" if at is None else at.strftime("%Y-%m-%dT%H:%M:%SZ")


def any_path(value: str) -> str:
    """A path, given with or without the slash before it."""
    path = f"/{value.removeprefix('/')}"
    if not _PATH.fullmatch(path):
        raise typer.BadParameter(f"{value!r} is not a path: names between slashes, such as shop/web/front/1")
    return path


def any_path_or_root(value: str) -> str:
    """A path, or the root."""
    return "/" if value in ("", "/") else any_path(value)


def vm_path(value: str) -> str:
    """A VM's path: namespace, infrastructure, subgroup, name."""
    path = any_path(value)
    if path.count("/") != 4:
        raise typer.BadParameter(f"{value!r} is not a VM: say it as namespace/infrastructure/subgroup/name")
    return path


def _duration(value: str | None) -> str | None:
    if value is not None:
        try:
            seconds(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return value


def complete_paths(kind: str | None) -> Callable[[typer.Context, str], list[str]]:
    """Completes paths of a kind by asking the server; says nothing where it does not answer."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        upper = incomplete.removeprefix("/").rpartition("/")[0]
        address = ctx.params.get("server") or DEFAULT_SERVER
        try:
            with SyncClient(address, timeout=2.0, retries=0) as client:
                page = client.resource_page(kind=kind, below=f"/{upper}", limit=200)
        except SteadError:
            return []
        slash = "/" if incomplete.startswith("/") else ""
        names = [slash + item.path.removeprefix("/") for item in page.items]
        return [name for name in names if name.startswith(incomplete)]

    return complete


Server = Annotated[
    str, typer.Option("--server", envvar="STEAD_SERVER", metavar="URL", help="Where the server is.", is_eager=True)
]
Output = Annotated[ListFormat, typer.Option("--output", "-o", help="How the result is written.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Go on, and write what changes, until stopped.")]
AnyPath = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="A resource.", callback=any_path, autocompletion=complete_paths(None), show_default=False
    ),
]
VmPath = Annotated[
    str,
    typer.Argument(
        metavar="NS/MCI/GROUP/NAME",
        help="A VM.",
        callback=vm_path,
        autocompletion=complete_paths("vm"),
        show_default=False,
    ),
]
Below = Annotated[
    str, typer.Option("--below", metavar="PATH", callback=any_path_or_root, help="Only below this path.")
]
Timeout = Annotated[
    str | None,
    typer.Option(metavar="TIME", callback=_duration, help="How long to wait: 90s, 10m, 1h. Without it: for ever."),
]


def seconds_of(timeout: str | None) -> float | None:
    """A timeout in seconds."""
    return None if timeout is None else float(seconds(timeout))
