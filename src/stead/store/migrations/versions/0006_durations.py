"""How long moves take, and what takes longer.

Revision ID: 0006
"""

from stead.store.migration_runner import run_files

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table of durations, and the indexes by which what is stuck is found."""
    run_files("migrations/versions/0006_durations.sql")
