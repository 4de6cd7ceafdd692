"""Extensions of PostgreSQL that the schema needs: the migrations name them, and each is checked before they run."""

from __future__ import annotations

import re
from typing import Any

import asyncpg

from stead.store.migrate import MigrationFailed, migration_files

INSTALL = (
    "Install the contrib modules of PostgreSQL on the machine of the database server (Debian, Ubuntu: "
    "apt install postgresql-contrib; Fedora: dnf install postgresql-contrib), then start Stead again."
)

_CREATE = re.compile(r'^\s*CREATE\s+EXTENSION\s+(?:IF\s+NOT\s+EXISTS\s+)?"?([\w-]+)', re.I | re.M)

_AVAILABLE = """
SELECT e.name,
       e.installed_version IS NOT NULL
       OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
       OR (v.trusted AND has_database_privilege(current_database(), 'CREATE')) AS allowed
FROM pg_available_extensions AS e
JOIN pg_available_extension_versions AS v ON v.name = e.name AND v.version = e.default_version
WHERE e.name = ANY($1)
"""

_SERVER = """
SELECT current_database() AS database, current_user AS role, current_setting('server_version') AS version,
       coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'a local socket') AS address
"""


class ExtensionMissing(MigrationFailed):
    """The database server lacks an extension that the schema needs, or the role may not create it."""


def required(last: str) -> tuple[str, ...]:
    """Names of the extensions that the migrations up to a revision create."""
    texts = [file.read_text(encoding="utf-8") for file in migration_files(".sql") if file.name[:4] <= last]
    return tuple(dict.fromkeys(name for text in texts for name in _CREATE.findall(text)))


async def check(connection: asyncpg.Connection[Any], last: str) -> None:
    """Raise `ExtensionMissing` where an extension that the migrations up to a revision create cannot be created."""
    names = required(last)
    allowed = {row["name"]: row["allowed"] for row in await connection.fetch(_AVAILABLE, list(names))}
    wrong = [name for name in names if not allowed.get(name)]
    if not wrong:
        return
    at = await connection.fetchrow(_SERVER)
    assert at is not None, "one row always"
    server = f"database {at['database']} at {at['address']} (PostgreSQL {at['version']})"
    if missing := [name for name in wrong if name not in allowed]:
        says = f"the server lacks the extension {', '.join(missing)}, which the schema needs"
        raise ExtensionMissing(f"{server}: {says}. {INSTALL}")
    create = " ".join(f"CREATE EXTENSION {name};" for name in wrong)
    says = f"role {at['role']} may not create the extension {', '.join(wrong)}, which the schema needs"
    raise ExtensionMissing(f"{server}: {says}. As a superuser, run there: {create} Then start Stead again.")
