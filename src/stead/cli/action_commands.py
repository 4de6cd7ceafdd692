"""Commands of actions that need nothing but the thing they are done to."""

from __future__ import annotations

from inspect import signature
from typing import Any

import typer

from stead.cli.output import ListFormat
from stead.cli.progress import DryRun, Force, How, Key, Queueing, Wait, Why, change, on_conflict
from stead.cli.server_commands import Output, Server, Timeout
from stead.client import DEFAULT_SERVER

COMMANDS: dict[tuple[str, str], tuple[str, str, bool]] = {}
"""By noun and verb, the kind and action of a command, and whether it can be forced."""


def add_observing(app: typer.Typer, kind: str, path_type: Any, example: str, noun: str = "") -> None:
    """Have the commands that observe a thing; of a kind without anything to observe the server says so."""
    add_verb(app, kind, path_type, "refresh", "Observe it now, and record what has drifted.", example, noun)
    add_verb(
        app,
        kind,
        path_type,
        "accept-observed",
        "Make the observed state the recorded one.",
        f'{example} --reason "repaired by hand"',
        noun,
    )


def add_verb(
    app: typer.Typer,
    kind: str,
    path_type: Any,
    action: str,
    says: str,
    example: str,
    noun: str = "",
    verb: str = "",
    *,
    forceable: bool = True,
) -> None:
    """Have a command for an action. Its noun is the kind's name, if it is not another one; its verb, the action's.

    It has the option `--force` only where the action is `forceable`.
    """

    def command(
        path: str,
        force: Force = False,
        reason: Why = "",
        queue: Queueing = False,
        wait: Wait = True,
        timeout: Timeout = None,
        dry_run: DryRun = False,
        key: Key = None,
        output: Output = ListFormat.TABLE,
        server: Server = DEFAULT_SERVER,
    ) -> None:
        how = How(output, wait, timeout, dry_run, key)
        change(server, path, action, how, kind=kind, force=force, reason=reason, on_conflict=on_conflict(queue))

    command.__doc__ = says
    command.__annotations__["path"] = path_type
    if not forceable:
        asked = signature(command, eval_str=True)
        kept = [parameter for name, parameter in asked.parameters.items() if name != "force"]
        command.__signature__ = asked.replace(parameters=kept)  # type: ignore[attr-defined]
    COMMANDS[noun or kind, verb or action] = (kind, action, forceable)
    name = verb or action
    app.command(name, short_help=says, epilog=f"Example: stead {noun or kind} {name} {example}")(command)
