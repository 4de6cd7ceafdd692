"""A private cloud: machines by their node, and disks by their machine.

Revision ID: 0007
"""

from stead.store.migration_runner import run_files

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Find what is where, and renew the functions that see to claims and to what lies around a resource."""
    functions = [f"sql/functions/{name}.sql" for name in ("claims", "operations", "commit")]
    run_files("migrations/versions/0007_private_cloud.sql", *functions)
