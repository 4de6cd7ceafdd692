"""Operations that ended long ago, and the keys of old requests, can go.

Revision ID: 0015
"""

from stead.store.migration_runner import run_files

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """The index is made ahead, where the database has keys already."""
    run_files("migrations/versions/0015_days.sql", "sql/functions/days.sql")
