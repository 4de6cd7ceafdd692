"""Sites whose agents will not come back can be forgotten.

Revision ID: 0023
"""

from stead.store.migration_runner import run_files

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """What was forgotten, so that an agent that comes back for it is told so."""
    run_files("migrations/versions/0023_forgotten_sites.sql")
