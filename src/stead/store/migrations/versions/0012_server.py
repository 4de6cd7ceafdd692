"""A server that takes another's place is met as such.

Revision ID: 0012
"""

from stead.store.migration_runner import run_files

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """The first server that is met is the one that was there all along."""
    run_files("migrations/versions/0012_server.sql", "sql/functions/server.sql")
