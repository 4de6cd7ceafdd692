"""Leases: hosts, who has them when, and the moments at which something happens.

Revision ID: 0008
"""

from stead.store.migration_runner import run_files

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Tables first, then what keeps leases, reservations and events together, then what books."""
    run_files(
        "migrations/versions/0008_leases.sql",
        "sql/functions/leases.sql",
        "sql/functions/lease_checks.sql",
        "migrations/versions/0008_leases_together.sql",
        "sql/functions/commit.sql",
    )
