"""`stead app`: apps at edge sites."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import BY, CHANGED, CLASS, CREATED, LANE, OBSERVED, OPERATION, PATH, PHASE, STATE
from stead.cli.listing import Columns
from stead.cli.logs import add_logs
from stead.cli.noun import Noun, Verb
from stead.cli.output import Code, fail
from stead.cli.paths import AppPath
from stead.cli.spec_options import File, Settings, Spec, merged, read_spec, set_fields
from stead.cli.spec_update import update_spec
from stead.client import Resource


class Restart(StrEnum):
    """When an app that ended is started again."""

    ALWAYS = "always"
    ON_FAILURE = "on-failure"
    NEVER = "never"


def _command(one: Resource) -> str:
    words = one.spec.get("command", "")
    return " ".join(map(str, words)) if isinstance(words, list) else str(words)


APPS: Columns[Resource] = Columns(
    narrow=(PATH, STATE, CLASS, OPERATION),
    wide=(LANE, PHASE, BY, CHANGED, OBSERVED, CREATED, ("COMMAND", _command)),
)
APP = Noun(
    "appinst",
    AppPath,
    "an app",
    "apps",
    "lab/berlin/one/web",
    name="app",
    columns=APPS,
    show="its state, its operation, its spec, and the facts that the site reported",
    verbs={
        "undo": Verb("Roll back a failed change whose error was kept.", forceable=False),
        "delete": "Stop and delete an app.",
    },
)
app = APP.app
add_logs(app, AppPath, "an app", "stead app logs lab/berlin/one/web --follow")

Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="COMMAND", help="Program and arguments, after two dashes.", show_default=False),
]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", help="Environment variable. Repeatable.", metavar="NAME=VALUE"),
]
Restarts = Annotated[
    Restart | None, typer.Option("--restart", help="When the app is restarted after it ended; default always.")
]


@APP.change("lab/berlin/one/web --env PORT=8080 -- python3 -m http.server 8080", extra=("on_failure", "queue"))
def create(
    options: ChangeOptions,
    path: AppPath,
    command: Command = None,
    file: File = None,
    env: Env = None,
    restart: Restarts = None,
    settings: Settings = None,
) -> None:
    """Run an app in a cluster at a site."""
    spec = _with(read_spec(file) if file is not None else {}, _fields(command, env, restart, settings))
    if not (spec.get("command") or spec.get("image")):
        text = "an app needs a command, after two dashes or in a file, or an image"
        raise typer.BadParameter(text, param_hint="COMMAND, --file, --set image=NAME")
    change(options, path, "create", spec=spec)


@APP.change("lab/berlin/one/web --env PORT=8081 -- python3 -m http.server 8081", extra=("on_failure", "queue"))
def update(
    options: ChangeOptions,
    path: AppPath,
    command: Command = None,
    file: File = None,
    env: Env = None,
    restart: Restarts = None,
    settings: Settings = None,
) -> None:
    """Update an app to the spec in a file, or only the fields given here.

    NAME=null removes a field.
    """
    whole = read_spec(file) if file is not None else None
    fields = _fields(command, env, restart, settings)
    if whole is None and not fields:
        text = "an update needs a spec or fields of one"
        raise typer.BadParameter(text, param_hint="COMMAND, --file, --env, --restart, --set")
    update_spec(options, path, whole, lambda spec: _with(spec, fields))


def _fields(
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


def _with(spec: Spec, fields: Spec) -> Spec:
    """A spec with some fields set; variables of the environment are added to those that it has."""
    present: Any = spec.get("env")
    added: Any = fields.get("env")
    if isinstance(present, dict) and isinstance(added, dict):
        fields = {**fields, "env": {**present, **added}}
    return merged(spec, fields)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        fail(f"--env takes NAME=VALUE, not {text!r}", Code.USAGE)
    return name, value
