"""Who may be an agent.

Revision ID: 0002
"""

from stead.store.migration_runner import run_files

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables."""
    run_files("migrations/versions/0002_identities.sql")
