"""`stead cluster`: clusters at edge sites."""

from __future__ import annotations

import typer

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import BY, CHANGED, CLASS, CREATED, LANE, OBSERVED, OPERATION, PATH, PHASE, STATE
from stead.cli.listing import Columns, counts
from stead.cli.noun import Noun, Verb
from stead.cli.paths import ClusterPath
from stead.cli.spec_options import File, Settings, merged, read_spec, set_fields, spec_of
from stead.cli.spec_update import update_spec
from stead.client import Resource

CLUSTERS: Columns[Resource] = Columns(
    narrow=(PATH, STATE, CLASS, ("APPS", lambda one: counts(one.members or {})), OPERATION),
    wide=(LANE, PHASE, BY, CHANGED, OBSERVED, CREATED),
)
CLUSTER = Noun(
    "clusterinst",
    ClusterPath,
    "a cluster",
    "clusters",
    "lab/berlin/one",
    name="cluster",
    columns=CLUSTERS,
    show="its state, its operation, its spec, and the facts that the site reported",
    verbs={
        "undo": Verb("Roll back a failed change whose error was kept.", forceable=False),
        "delete": "Delete a cluster and all apps in it.",
    },
)
app = CLUSTER.app


@CLUSTER.change("lab/berlin/one --set memory=512M", extra=("on_failure", "queue"))
def create(options: ChangeOptions, path: ClusterPath, file: File = None, settings: Settings = None) -> None:
    """Create a cluster at a site."""
    change(options, path, "create", spec=spec_of(file, settings))


@CLUSTER.change("lab/berlin/one --set memory=1G", extra=("on_failure", "queue"))
def update(options: ChangeOptions, path: ClusterPath, file: File = None, settings: Settings = None) -> None:
    """Update a cluster to the spec in a file, or only the fields given here.

    NAME=null removes a field.
    """
    whole = read_spec(file) if file is not None else None
    fields = set_fields(settings)
    if whole is None and not fields:
        raise typer.BadParameter("an update needs a spec or fields of one", param_hint="--file, --set")
    update_spec(options, path, whole, lambda spec: merged(spec, fields))
