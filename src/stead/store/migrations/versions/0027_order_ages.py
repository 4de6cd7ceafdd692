"""An order that is sent anew is as old as it was; held orders are looked for only where a cell was held.

Revision ID: 0027
"""

from stead.store.migration_runner import run_files

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Replace the functions that write changes and release orders."""
    run_files(
        "migrations/versions/0027_order_ages.sql",
        "sql/functions/recovery.sql",
        "sql/functions/commit.sql",
    )
