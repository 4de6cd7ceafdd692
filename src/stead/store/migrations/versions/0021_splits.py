"""An order that waits is divided to fit the free slots of its lane.

Revision ID: 0021
"""

from stead.store.migration_runner import run_files

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """What commits tells of lanes with free slots, so the functions of slots come first."""
    run_files("sql/functions/slots.sql", "sql/functions/commit.sql")
