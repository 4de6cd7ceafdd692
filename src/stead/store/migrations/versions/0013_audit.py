"""The journal as an audit trail: where lines came from, hashes that chain them, and what was archived.

Revision ID: 0013
"""

from stead.store.migration_runner import run_files

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """No line that is there is touched: the chain begins with the next one that gets a position."""
    run_files("sql/functions/journal.sql", "migrations/versions/0013_audit.sql", "sql/functions/commit.sql")
