"""`stead cluster`: clusters at edge sites."""

from __future__ import annotations

import typer

from stead.cli.action_commands import add_observing, add_verb
from stead.cli.columns import BY, CHANGED, CLASS, CREATED, LANE, OPERATION, PATH, PHASE, SEEN, STATE
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns, counts
from stead.cli.output import ListFormat
from stead.cli.paths import ClusterPath
from stead.cli.progress import DryRun, How, Key, OnFailure, Queueing, Remedy, Wait, Why, change, on_conflict
from stead.cli.server_commands import Output, Server, Timeout
from stead.cli.spec_options import File, Settings, merged, read_spec, set_fields, spec_of
from stead.cli.spec_update import respec
from stead.client import DEFAULT_SERVER, Resource

KIND, NOUN = "clusterinst", "cluster"

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Clusters at edge sites.")

CLUSTERS: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        CLASS,
        ("APPS", lambda one: counts(one.members or {})),
        OPERATION,
    ),
    wide=(LANE, PHASE, BY, CHANGED, SEEN, CREATED),
    name=lambda one: one.path,
)


@app.command(short_help="Make a cluster.", epilog="Example: stead cluster create lab/berlin/one --set memory=512M")
def create(
    path: ClusterPath,
    file: File = None,
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
    """Make a cluster at a site, and follow it until it is ready."""
    spec = spec_of(file, settings)
    wishes = {"on_failure": on_failure, "reason": reason, "on_conflict": on_conflict(queue)}
    change(server, path, "create", How(output, wait, timeout, dry_run, key), kind=KIND, spec=spec, **wishes)


@app.command(short_help="Change a cluster.", epilog="Example: stead cluster update lab/berlin/one --set memory=1G")
def update(
    path: ClusterPath,
    file: File = None,
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
    """Change a cluster to the spec of a file; without one, only the fields that are set. NAME=null leaves one out."""
    whole = read_spec(file) if file is not None else None
    fields = set_fields(settings)
    if whole is None and not fields:
        raise typer.BadParameter("say what it is to become", param_hint="--file, --set")
    how = How(output, wait, timeout, dry_run, key)
    wishes = {"on_failure": on_failure, "reason": reason, "on_conflict": on_conflict(queue)}
    respec(server, path, KIND, how, whole, lambda spec: merged(spec, fields), **wishes)


for _action, _says in (
    ("undo", "Take back a change that failed, where the error was kept."),
    ("delete", "Delete a cluster, after all apps in it."),
):
    add_verb(app, KIND, ClusterPath, _action, _says, "lab/berlin/one", NOUN, forceable=_action != "undo")


add_observing(app, KIND, ClusterPath, "lab/berlin/one", NOUN)
add_list(app, KIND, CLUSTERS, "Clusters", "stead cluster list lab/berlin")
add_show(
    app,
    KIND,
    ClusterPath,
    "A cluster, as it is or as it was.",
    "A cluster: its state, what is going on, its spec, and what the site said of it.",
    "stead cluster show lab/berlin/one -o yaml",
)
