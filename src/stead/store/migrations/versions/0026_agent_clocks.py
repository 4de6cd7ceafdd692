"""How far off the clock of an agent is; an order is divided also where orders can be held.

Revision ID: 0026
"""

from stead.store.migration_runner import run_files

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add by how much the clock of an agent is ahead of the database's, and replace what divides orders."""
    run_files("migrations/versions/0026_agent_clocks.sql", "sql/functions/slots.sql")
