"""An agent says on which lanes its provider rejects it; the reason of an operation counts members by outcome.

Revision ID: 0024
"""

from stead.store.migration_runner import run_files

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add why the provider of each lane rejects the agent, and replace the function that gives the reason."""
    run_files("migrations/versions/0024_rejected_agents.sql", "sql/functions/operations.sql")
