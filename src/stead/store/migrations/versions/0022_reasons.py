"""An operation that did not do what was asked says why, also where no error was reported.

Revision ID: 0022
"""

from stead.store.migration_runner import run_files

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Replace the functions that end operations, and the one that records which members were left out."""
    run_files(*(f"sql/functions/{name}.sql" for name in ("operations", "systems", "queues")))
