"""Which lanes each namespace may use: what is in use is granted, and nothing else.

Revision ID: 0017
"""

from stead.store.migration_runner import run_files

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """The guard is put up first, so that nothing gets a lane between the look at what is in use and the guard."""
    run_files(
        "sql/functions/lanes.sql",
        "migrations/versions/0017_lanes.sql",
        "sql/functions/commit.sql",
        "sql/functions/leases.sql",
        "sql/functions/queues.sql",
    )
