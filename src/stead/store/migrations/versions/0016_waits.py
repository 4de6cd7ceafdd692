"""An operation on a group waits for members that another operation is in progress on.

Revision ID: 0016
"""

from stead.store.migration_runner import run_files

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """The functions that count members know of these from now on, whichever controller calls them.

    The function that commits is replaced by the next revision, which its text needs."""
    run_files(
        "migrations/versions/0016_waits.sql",
        "sql/functions/operations.sql",
        "sql/functions/systems.sql",
    )
