"""`stead app`: apps at edge sites."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any

import typer

from stead.cli.action_commands import add_observing, add_verb
from stead.cli.columns import BY, CHANGED, CLASS, CREATED, LANE, OPERATION, PATH, PHASE, SEEN, STATE
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns, printable
from stead.cli.logs import add_logs
from stead.cli.output import Code, ListFormat, fail
from stead.cli.paths import AppPath
from stead.cli.progress import DryRun, How, Key, OnFailure, Queueing, Remedy, Wait, Why, change, on_conflict
from stead.cli.server_commands import Output, Server, Timeout
from stead.cli.spec_options import File, Settings, Spec, merged, read_spec, set_fields
from stead.cli.spec_update import respec
from stead.client import DEFAULT_SERVER, Resource

KIND, NOUN = "appinst", "app"

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Apps at edge sites.")

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Restart(StrEnum):
    """When an app that ended is started again."""

    ALWAYS = "always"
    ON_FAILURE = "on-failure"
    NEVER = "never"


def _command(one: Resource) -> str:
    words = one.spec.get("command", "")
    return printable(" ".join(map(str, words)) if isinstance(words, list) else str(words))


APPS: Columns[Resource] = Columns(
    narrow=(PATH, STATE, CLASS, OPERATION),
    wide=(
        LANE,
        PHASE,
        BY,
        CHANGED,
        SEEN,
        CREATED,
        ("COMMAND", _command),
    ),
    name=lambda one: one.path,
)

Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="COMMAND", help="What it runs, with its arguments, after two dashes.", show_default=False),
]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", help="A variable of its environment. May be repeated.", metavar="NAME=VALUE"),
]
Restarts = Annotated[
    Restart | None, typer.Option("--restart", help="When it is started again after it ended. Without it: always.")
]


@app.command(
    short_help="Run an app.",
    epilog="Example: stead app create lab/berlin/one/web --env PORT=8080 -- python3 -m http.server 8080",
)
def create(
    path: AppPath,
    command: Command = None,
    file: File = None,
    env: Env = None,
    restart: Restarts = None,
    settings: Settings = None,
    on_failure: OnFailure = Remedy.ROLLBACK,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Run an app in a cluster at a site, and follow it until it is up."""
    said = _said(command, env, restart, settings)
    spec = _with(read_spec(file) if file is not None else {}, said)
    if not (spec.get("command") or spec.get("image")):
        says = "say what it runs: a command after two dashes or in a file, or an image"
        raise typer.BadParameter(says, param_hint="COMMAND, --file, --set image=NAME")
    wishes = {"on_failure": on_failure, "reason": reason, "on_conflict": on_conflict(queue)}
    change(server, path, "create", How(output, wait, timeout, dry_run, key), kind=KIND, spec=spec, **wishes)


@app.command(
    short_help="Change an app.",
    epilog="Example: stead app update lab/berlin/one/web --env PORT=8081 -- python3 -m http.server 8081",
)
def update(
    path: AppPath,
    command: Command = None,
    file: File = None,
    env: Env = None,
    restart: Restarts = None,
    settings: Settings = None,
    on_failure: OnFailure = Remedy.ROLLBACK,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Change an app to the spec of a file; without one, only what is said here. NAME=null leaves a field out."""
    whole = read_spec(file) if file is not None else None
    said = _said(command, env, restart, settings)
    if whole is None and not said:
        raise typer.BadParameter("say what it is to become", param_hint="COMMAND, --file, --env, --restart, --set")
    how = How(output, wait, timeout, dry_run, key)
    wishes = {"on_failure": on_failure, "reason": reason, "on_conflict": on_conflict(queue)}
    respec(server, path, KIND, how, whole, lambda spec: _with(spec, said), **wishes)


def _said(
    command: list[str] | None, env: list[str] | None, restart: Restart | None, settings: list[str] | None
) -> Spec:
    """The fields of a spec that were given one by one."""
    fields: Spec = set_fields(settings)
    if command:
        fields["command"] = command
    if restart is not None:
        fields["restart"] = restart.value
    if env:
        fields["env"] = dict(map(_variable, env))
    return fields


def _with(spec: Spec, said: Spec) -> Spec:
    """A spec with what was said; variables go beside those that it has."""
    there: Any = spec.get("env")
    more: Any = said.get("env")
    if isinstance(there, dict) and isinstance(more, dict):
        said = {**said, "env": {**there, **more}}
    return merged(spec, said)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        fail(f"--env takes NAME=VALUE, not {text!r}", Code.USAGE)
    return name, value


for _action, _says in (
    ("undo", "Take back a change that failed, where the error was kept."),
    ("delete", "Stop an app, and delete it."),
):
    add_verb(app, KIND, AppPath, _action, _says, "lab/berlin/one/web", NOUN, forceable=_action != "undo")


add_observing(app, KIND, AppPath, "lab/berlin/one/web", NOUN)
add_list(app, KIND, APPS, "Apps", "stead app list lab/berlin --watch")
add_show(
    app,
    KIND,
    AppPath,
    "An app, as it is or as it was.",
    "An app: its state, what is going on, its spec, and what the site said of it.",
    "stead app show lab/berlin/one/web -o yaml",
)
add_logs(app, AppPath, "an app", "stead app logs lab/berlin/one/web --follow")
