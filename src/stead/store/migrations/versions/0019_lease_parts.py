"""A lease cannot lose a part: the database rejects a commit where its start, its end or reservations are missing.

Revision ID: 0019
"""

from stead.store.migration_runner import run_files

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """The functions first, which the triggers call."""
    run_files(
        "sql/functions/lease_checks.sql",
        "migrations/versions/0019_lease_parts.sql",
        "sql/functions/leases.sql",
    )
