"""Systems: operations that run beside others, each with a claim on a place of its own.

Revision ID: 0010
"""

from stead.store.migration_runner import run_files

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """What was let in before goes on as it was."""
    run_files(*(f"sql/functions/{name}.sql" for name in ("systems", "claims", "operations", "commit")))
