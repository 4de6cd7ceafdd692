"""`stead account`: who owns cloudspaces of the private cloud."""

from __future__ import annotations

import typer

from stead.cli.action_commands import add_verb
from stead.cli.columns import CHANGED, CREATED, OPERATION, PATH, STATE
from stead.cli.datacenter import make
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns, counts
from stead.cli.output import ListFormat
from stead.cli.paths import AccountPath
from stead.cli.progress import DryRun, How, Key, Wait, Why
from stead.cli.server_commands import Output, Server, Timeout
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import DEFAULT_SERVER, Resource

KIND = "account"

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Who owns cloudspaces of the private cloud.")

ACCOUNTS: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        ("CLOUDSPACES", lambda one: counts(one.members or {})),
        OPERATION,
    ),
    wide=(CHANGED, CREATED),
    name=lambda one: one.path,
)


@app.command(short_help="Take in an account.", epilog="Example: stead account create acme --set owner=ann")
def create(
    path: AccountPath,
    file: File = None,
    settings: Settings = None,
    reason: Why = "",
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Take in an account, which cloudspaces can be deployed in from then on."""
    how = How(output, wait, timeout, dry_run, key)
    make(server, path, KIND, "create", how, spec_of(file, settings), reason=reason)


for _action, _says in (
    ("disable", "Switch an account off, with all it has."),
    ("enable", "Switch an account on again."),
    ("delete", "Move an account to the recycle bin, with all it has."),
    ("restore", "Take an account out of the recycle bin."),
    ("destroy", "Remove an account for good, with all it has."),
):
    add_verb(app, KIND, AccountPath, _action, _says, "acme")
add_list(app, KIND, ACCOUNTS, "Accounts", "stead account list -o wide")
add_show(
    app,
    KIND,
    AccountPath,
    "An account, as it is or as it was.",
    "An account: its state, what is going on, its spec, and how its cloudspaces are.",
    "stead account show acme -o yaml",
)
