"""Sites that agents connect from, and specs that agents can tell apart.

Revision ID: 0004
"""

from stead.store.migration_runner import run_files

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table of connections, number the specs, and renew the functions that know of them."""
    functions = ("orders", "commit", "operations")
    run_files("migrations/versions/0004_sites.sql", *(f"sql/functions/{name}.sql" for name in functions))
