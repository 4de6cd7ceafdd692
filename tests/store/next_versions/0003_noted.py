"""An index on a column that the release before lacks.

Revision ID: 0003
"""

from pathlib import Path

from stead.store.migration_runner import run_files

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """A database at 0001 has no such column before this transaction, so the index is built in it."""
    run_files("0003_noted.sql", of=Path(__file__).parent)
