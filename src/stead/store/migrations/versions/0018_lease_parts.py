"""A lease cannot lose a part: the database rejects a commit in which its start, its end or its reservations are missing.

Revision ID: 0018
"""

from stead.store.migrating import run_files

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """The functions first, which the triggers call."""
    run_files("sql/functions/lease_checks.sql", "migrations/versions/0018_lease_parts.sql", "sql/functions/leases.sql")
