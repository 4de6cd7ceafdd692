"""A column on every large table.

Revision ID: 0002
"""

from pathlib import Path

from stead.store.migration_runner import run_files

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns; the index was built ahead, where the database has rows already."""
    run_files("0002_notes.sql", of=Path(__file__).parent)
