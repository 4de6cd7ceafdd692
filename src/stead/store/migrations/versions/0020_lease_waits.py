"""Leases that wait for hosts say so, and never start after their end; notices tell how they fared; nodes that
are booked take machines of their lease alone.

Revision ID: 0020
"""

from stead.store.migration_runner import run_files

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """What quotas may be of, then functions."""
    run_files(
        "migrations/versions/0020_lease_waits.sql",
        "sql/functions/lease_quotas.sql",
        "sql/functions/leases.sql",
        "sql/functions/operations.sql",
    )
