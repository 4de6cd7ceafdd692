"""The cell knows when it was backed up.

Revision ID: 0028
"""

from stead.store.migration_runner import run_files

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Add the list of backups."""
    run_files("migrations/versions/0028_backups.sql")
