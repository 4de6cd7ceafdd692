"""Everything the engine stands on.

Revision ID: 0001
"""

from stead.store.migration_runner import run_files

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the schema and the functions."""
    functions = ("types", "claims", "orders", "commit", "slots", "operations", "queues")
    run_files("migrations/versions/0001_foundation.sql", *(f"sql/functions/{name}.sql" for name in functions))
