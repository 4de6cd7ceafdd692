"""Everything the engine stands on.

Revision ID: 0001
"""

from stead.store.migrate import run_files

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the schema and the functions."""
    run_files("migrations/versions/0001_foundation.sql", "sql/commit_changes.sql")
