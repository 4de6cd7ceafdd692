"""`stead account`: owners of cloudspaces of the private cloud."""

from __future__ import annotations

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import CHANGED, CREATED, OPERATION, PATH, STATE
from stead.cli.listing import Columns, counts
from stead.cli.noun import Noun
from stead.cli.paths import AccountPath
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import Resource

ACCOUNTS: Columns[Resource] = Columns(
    narrow=(PATH, STATE, ("CLOUDSPACES", lambda one: counts(one.members or {})), OPERATION),
    wide=(CHANGED, CREATED),
)
ACCOUNT = Noun(
    "account",
    AccountPath,
    "an account",
    "accounts",
    "acme",
    columns=ACCOUNTS,
    show="its state, its operation, its spec, and the states of its cloudspaces",
    observed=False,
    verbs={
        "disable": "Disable an account and its resources.",
        "enable": "Enable a disabled account.",
        "delete": "Move an account and its resources to the recycle bin.",
        "restore": "Restore an account from the recycle bin.",
        "destroy": "Remove an account and its resources for good.",
    },
)
app = ACCOUNT.app


@ACCOUNT.change("acme --set owner=ann")
def create(options: ChangeOptions, path: AccountPath, file: File = None, settings: Settings = None) -> None:
    """Create an account, in which cloudspaces can be deployed."""
    change(options, path, "create", spec=spec_of(file, settings))
