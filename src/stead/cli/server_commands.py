"""What all commands of a server share: its address, and how they end when it rejects a request."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any

import msgspec
import typer

from stead.cli.credentials import token_for
from stead.cli.durations import duration
from stead.cli.environment import CA, CELL
from stead.cli.output import Code, Format, ListFormat, fail, note
from stead.client import (
    DEFAULT_SERVER,
    Forbidden,
    InvalidRequest,
    NotFound,
    Problem,
    ProblemError,
    Rejected,
    SteadError,
    SyncClient,
    VersionMismatch,
    WaitTimeout,
)
from stead.lifecycle.files.times import seconds

SERVER = "STEAD_SERVER"
"""The environment variable with the address of the server."""

_CODES: dict[type[ProblemError], Code] = {
    Rejected: Code.REJECTED,
    VersionMismatch: Code.REJECTED,
    Forbidden: Code.NOT_ALLOWED,
    NotFound: Code.NOT_FOUND,
    InvalidRequest: Code.USAGE,
}


@contextmanager
def reach(address: str, **options: Any) -> Iterator[SyncClient]:
    """A client with the caller's credentials; an error ends the command, with the exit code of that error."""
    if "token" not in options:
        options["token"] = token_for(address)
    try:
        with SyncClient(address, ca=os.environ.get(CA, ""), cell=os.environ.get(CELL) or "-", **options) as client:
            yield client
    except ProblemError as error:
        note_problem(error.problem)
        raise typer.Exit(_CODES.get(type(error), Code.FAILED)) from None
    except WaitTimeout as error:
        again = command_line(address, "operation", "wait", error.operation.id)
        note(f"error: timed out: {error}; the operation continues\n  follow it: {again}")
        raise typer.Exit(Code.TIMED_OUT) from None
    except SteadError as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(Code.INTERRUPTED) from None


def command_line(address: str, *words: str) -> str:
    """A command to type next, which asks the same server as this one."""
    usual = os.environ.get(SERVER) or DEFAULT_SERVER
    return " ".join(["stead", *words, *(() if address == usual else ("--server", address))])


def note_problem(problem: Problem) -> None:
    """Write the reasons of a problem, the operations in the way, and the allowed actions."""
    reasons = [(reason.code, reason.message) for reason in problem.reasons or ()] or [(problem.code, problem.detail)]
    for code, says in reasons:
        first, *more = (says or problem.title).splitlines()
        note("\n".join([f"error: {first} [{code}]", *more]))
    if problem.current_state:
        note(f"  state: {problem.current_state}")
    for holder in problem.holders or filter(None, [problem.holder]):
        since = f" since {clock(holder.since)}" if holder.since else ""
        note(
            f"  held by: {holder.action} of {holder.path} by {holder.principal}{since}, operation {holder.operation}"
        )
    if problem.allowed_actions:
        note(f"  allowed actions: {', '.join(problem.allowed_actions)}")
    if problem.retry_after is not None:
        note(f"  retry in {problem.retry_after} s")
    if problem.status >= 500 and problem.request_id:
        note(f"  request {problem.request_id}")


def plain(value: Any) -> Any:
    """For JSON and YAML."""
    return msgspec.to_builtins(value)


def clock(at: datetime | None) -> str:
    """A time, to the second."""
    return "" if at is None else at.strftime("%Y-%m-%dT%H:%M:%SZ")


Server = Annotated[
    str, typer.Option("--server", envvar=SERVER, metavar="URL", help="URL of the server.", is_eager=True)
]
Output = Annotated[ListFormat, typer.Option("--output", "-o", help="Output format.")]
SingleOutput = Annotated[Format, typer.Option("--output", "-o", help="Output format.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Write changes as they happen, until interrupted.")]
Timeout = Annotated[
    str | None,
    typer.Option(metavar="TIME", callback=duration, help="Maximum wait, such as 90s, 10m or 1h; default unlimited."),
]


def seconds_of(timeout: str | None) -> float | None:
    """A timeout in seconds."""
    return None if timeout is None else float(seconds(timeout))
