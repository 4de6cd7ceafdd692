"""Addresses of databases, without the passwords in them.

A password goes to PostgreSQL by the environment (`PGPASSWORD`, or a file named by `PGPASSFILE`), which processes of
other users cannot read; an address stands in command lines, logs and errors.
"""

from __future__ import annotations

import os
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from stead.secrets.scrubbing import KNOWN

VARIABLE = "PGPASSWORD"


def parted(dsn: str) -> tuple[str, str]:
    """An address without its password, and the password."""
    whole = urlsplit(dsn)
    who, at, where = whole.netloc.rpartition("@")
    user, _, password = who.partition(":")
    query = parse_qsl(whole.query, keep_blank_values=True)
    said = [value for name, value in query if name == "password"]
    if said:
        left = urlencode([(name, value) for name, value in query if name != "password"], safe="/")
        whole = whole._replace(query=left)
    clean = urlunsplit(whole._replace(netloc=f"{user}{at}{where}"))
    return (clean if password or said else dsn), unquote(password) or (said[-1] if said else "")


def without_password(dsn: str) -> str:
    """The address; its password is from now on in the environment, of this process and those that it starts."""
    clean, password = parted(dsn)
    if password:
        os.environ[VARIABLE] = password
    if known := os.environ.get(VARIABLE):
        KNOWN.remember(known)
    return clean
