"""Leases whose hosts could not be taken back are ended once more, which is no other moment.

Revision ID: 0011
"""

from stead.store.migration_runner import run_files

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """The functions of leases, anew."""
    run_files("sql/functions/leases.sql")
