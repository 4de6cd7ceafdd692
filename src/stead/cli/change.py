"""Commands that request a change: the options that all of them share, and how a change is requested and followed.

A command of a change is a function of `ChangeOptions` and of what it alone takes. `change_command` gives it the
shared options, so that a change waits, rehearses and reports in the same way whatever is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from enum import StrEnum
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Literal

import typer

from stead.cli.command import command
from stead.cli.dry_run import show as show_plan
from stead.cli.listing import write
from stead.cli.output import Code, ListFormat, data, note
from stead.cli.progress import OPERATIONS, finish, queue_place
from stead.cli.server_commands import Output, Server, Timeout, command_line, plain, reach
from stead.client import DEFAULT_SERVER, Accepted, SyncClient


class Remedy(StrEnum):
    """What becomes of a change that failed."""

    ROLLBACK = "rollback"
    KEEP = "keep"


OnFailure = Annotated[
    Remedy, typer.Option("--on-failure", help="Roll back a failed change, or keep its error to inspect.")
]
Force = Annotated[bool, typer.Option("--force", help="Override the state. Needs --reason.")]
Queue = Annotated[
    bool, typer.Option("--queue", help="Wait for operations in progress, instead of being rejected because of them.")
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason; kept with the operation.")]
Wait = Annotated[bool, typer.Option("--wait/--detach", help="Follow the operation to its end, or return at once.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what the change would do, without doing it.")]
ExpectAgent = Annotated[bool, typer.Option("--expect-agent", help="Accept a lane that no agent has served yet.")]
Key = Annotated[
    str | None, typer.Option("--key", metavar="TEXT", help="Idempotency key; the server accepts it once.")
]

OPTIONS: dict[str, tuple[Any, Any]] = {
    "on_failure": (
        Annotated[
            Remedy, typer.Option("--on-failure", help="Roll back a failed change, or keep its error to inspect.")
        ],
        Remedy.ROLLBACK,
    ),
    "force": (Force, False),
    "reason": (Reason, ""),
    "queue": (Queue, False),
    "wait": (Wait, True),
    "timeout": (Timeout, None),
    "dry_run": (DryRun, False),
    "expect_agent": (ExpectAgent, False),
    "key": (Key, None),
    "output": (Output, ListFormat.TABLE),
    "server": (Server, DEFAULT_SERVER),
}
"""Every shared option, in the order of help, with its default."""

EXTRA = {"on_failure", "force", "queue", "expect_agent"}
"""Shared options that a command has only where it names them."""


@dataclass(frozen=True, kw_only=True)
class ChangeOptions:
    """The shared options as one command was called with them."""

    output: ListFormat
    server: str
    kind: str | None = None
    """The kind that the command is about; a path of another kind is rejected."""
    on_failure: Remedy | None = None
    force: bool = False
    reason: str = ""
    queue: bool = False
    wait: bool = True
    timeout: str | None = None
    dry_run: bool = False
    expect_agent: bool = False
    key: str | None = None

    def request(self) -> dict[str, Any]:
        """The fields of a request that these options stand for."""
        said: dict[str, Any] = {"kind": self.kind, "reason": self.reason, "on_failure": self.on_failure}
        said |= {"force": self.force, "expect_agent": self.expect_agent}
        conflict = {"on_conflict": on_conflict(queue=True)} if self.queue else {}
        return {name: value for name, value in said.items() if value} | conflict


def on_conflict(*, queue: bool) -> Literal["default", "queue"]:
    """What a change does while another operation is in progress."""
    return "queue" if queue else "default"


type ChangeFunction = Callable[..., None]
"""What a command of a change does, with `ChangeOptions` before its own parameters."""


def change_command(
    app: typer.Typer,
    example: str,
    name: str = "",
    *,
    kind: str | None = None,
    extra: Collection[str] = (),
    without: Collection[str] = (),
) -> Callable[[ChangeFunction], ChangeFunction]:
    """Declare a function as a command of a change: it has the shared options beside its own.

    A parameter of its own with the name of a shared option takes the place of that option.
    """
    assert EXTRA.issuperset(extra)
    shared = (OPTIONS.keys() - EXTRA - set(without)) | set(extra)

    def declare(function: ChangeFunction) -> ChangeFunction:
        _, *parameters = signature(function, eval_str=True).parameters.values()
        own = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters]
        names = [one.name for one in own]
        added = [
            Parameter(option, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
            for option, (annotation, default) in OPTIONS.items()
            if option in shared and option not in names
        ]

        def run(**given: Any) -> None:
            options = {one.name: given[one.name] for one in fields(ChangeOptions) if one.name in given}
            function(ChangeOptions(**{"kind": kind, **options}), **{one: given[one] for one in names})

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        shown = [*own, *added]
        run.__signature__ = Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in shown}
        command(app, example, name)(run)
        return function

    return declare


def change(options: ChangeOptions, path: str, action: str, **request: Any) -> None:
    """Request a change and follow it, as far as the options say; ends the command unless all of it was done."""
    request = {**options.request(), **request}
    with reach(options.server) as client:
        if options.dry_run:
            request.pop("if_match", None)
            show_plan(client.dry_run(path, action, **request), options.output)
            return
        submit(client, lambda: client.request_action(path, action, key=options.key, **request), action, path, options)


def submit(
    client: SyncClient, request: Callable[[], Accepted], action: str, path: str, options: ChangeOptions
) -> None:
    """Send a request and follow its operation, as far as the options say; ends the command unless all was done."""
    try:
        accepted = request()
    except KeyboardInterrupt:
        note(
            f"interrupted before the server answered; {action} {path} may have been accepted\n"
            f"  list operations: {command_line(client.server, 'operation', 'list')}"
        )
        raise typer.Exit(Code.INTERRUPTED) from None
    unusual = _note_unusual(accepted, action, path)
    if accepted.operation is None:
        if options.output in (ListFormat.JSON, ListFormat.YAML):
            data(plain(accepted), options.output)
        return
    id = accepted.operation.id
    if not options.wait:
        write([client.operation(id)], OPERATIONS, options.output)
        return
    if not unusual:
        note(f"{action} of {path}: operation {id}")
    finish(client, id, options.timeout, options.output, requested=action)


def _note_unusual(accepted: Accepted, action: str, path: str) -> bool:
    """Say how a request was accepted where that is not the usual way; whether it was not."""
    if accepted.operation is None:
        note(f"{action} of {path}: nothing to do")
    elif accepted.joined:
        note(f"{action} of {path} is in progress already; joined operation {accepted.operation.id}")
    elif accepted.repeated:
        note(f"{action} of {path} was accepted before, with the same key: operation {accepted.operation.id}")
    elif accepted.queued:
        note(f"{action} of {path}: {queue_place(accepted.position)}: operation {accepted.operation.id}")
    else:
        return False
    return True
