"""Who may ask, and what for.

Revision ID: 0003
"""

from stead.store.migration_runner import run_files

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables of tokens, sessions, grants and policies."""
    run_files("migrations/versions/0003_access.sql")
