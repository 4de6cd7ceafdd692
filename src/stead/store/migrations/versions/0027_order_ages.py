"""An order that is sent anew is as old as it was, so that one that no agent takes is noticed.

Revision ID: 0027
"""

from stead.store.migrating import run_files

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Replace the function that writes changes."""
    run_files("sql/functions/commit.sql")
