"""Who has a host at a time is looked up by an index that loses nothing.

Revision ID: 0014
"""

from stead.store.migration_runner import run_files

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """The index is made ahead, where the database has allocations already."""
    run_files("migrations/versions/0014_bookings.sql", "sql/functions/leases.sql")
