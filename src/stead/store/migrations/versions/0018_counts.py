"""What was not counted yet can be read beside the counts; observations are counted.

Revision ID: 0018
"""

from stead.store.migration_runner import run_files

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """A function that only reads, and a table that nothing asks for yet."""
    run_files("migrations/versions/0018_counts.sql", "sql/functions/counts.sql")
