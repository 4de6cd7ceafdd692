"""Scaling policies, and the demand that they follow.

Revision ID: 0005
"""

from stead.store.migration_runner import run_files

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables of policies, their places and their demand."""
    run_files("migrations/versions/0005_scaling.sql")
