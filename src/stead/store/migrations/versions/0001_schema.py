"""The schema of the first release: tables, functions, triggers.

Revision ID: 0001
"""

from stead.store.migration_runner import run_files

revision = "0001"
down_revision = None

TABLES = "cell resources operations orders agents lanes journal access scaling datacenter leases"
"""Files of tables, each after those that it refers to."""
FUNCTIONS = (
    "types claims orders nodes quotas counts journal partitions access server recovery slots operations systems "
    "queues lanes lease_quotas lease_checks leases lifecycles commit"
)
"""Files of functions, each after those that its functions in SQL call."""


def upgrade() -> None:
    """Create everything: functions need the tables, and triggers the functions."""
    run_files(*(f"migrations/versions/0001_{name}.sql" for name in TABLES.split()))
    run_files(*(f"sql/functions/{name}.sql" for name in FUNCTIONS.split()))
    run_files("migrations/versions/0001_triggers.sql")
