"""A restored cell is held until an operator releases it.

Revision ID: 0025
"""

from stead.store.migration_runner import run_files

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the hold, and replace what gives orders; a backup with an older schema is held in this same transaction."""
    run_files(
        "migrations/versions/0025_held_cell.sql",
        "sql/functions/recovery.sql",
        "sql/functions/server.sql",
        "sql/functions/slots.sql",
        "sql/functions/commit.sql",
        "sql/restore/migrated.sql",
    )
