"""Lifecycles of an operator's own.

Revision ID: 0009
"""

from stead.store.migration_runner import run_files

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """The table first, then what keeps it and what is written by it together."""
    run_files(
        "migrations/versions/0009_lifecycles.sql",
        "sql/functions/lifecycles.sql",
        "sql/functions/commit.sql",
    )
