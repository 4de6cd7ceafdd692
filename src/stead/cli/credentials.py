"""Credentials of commands: a token from the environment, or a kept login.

Logins are in a file that only its owner may read, one for each server. A login that is about to expire is
renewed with its refresh token.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

TOKEN = "STEAD_TOKEN"
SOON = 60.0
"""Seconds before its end in which a login is renewed."""
PATIENCE = 20.0


def token_for(server: str) -> str | None:
    """The token for a server, if there is one."""
    if said := os.environ.get(TOKEN):
        return said.strip()
    kept = _read().get(_key(server))
    if kept is None:
        return None
    if kept.get("until") and kept["until"] - SOON < time.time() and kept.get("refresh"):
        kept = _renewed(server, kept) or kept
    return str(kept["token"])


def keep(server: str, login: dict[str, Any]) -> Path:
    """Keep a login; the file it is in."""
    return _write({**_read(), _key(server): login})


def forget(server: str) -> bool:
    """Forget the login at a server; whether there was one."""
    kept = _read()
    there = kept.pop(_key(server), None) is not None
    if there:
        _write(kept)
    return there


def _renewed(server: str, kept: dict[str, Any]) -> dict[str, Any] | None:
    """The login with what the issuer says now; None where it says nothing, and the server will tell."""
    with suppress(httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError):
        asked = {"grant_type": "refresh_token", "refresh_token": kept["refresh"], "client_id": kept["client"]}
        answer = httpx.post(kept["endpoint"], data=asked, timeout=PATIENCE)
        said = answer.json()
        if answer.status_code == 200 and said.get("id_token"):
            fresh = {**kept, **login_of(said, kept["client"], kept["endpoint"], kept["refresh"])}
            keep(server, fresh)
            return fresh
    return None


def login_of(said: dict[str, Any], client: str, endpoint: str, refresh: str = "") -> dict[str, Any]:
    """What is kept of an issuer's answer."""
    return {
        "token": said["id_token"],
        "refresh": said.get("refresh_token") or refresh,
        "until": time.time() + float(said.get("expires_in") or 0),
        "client": client,
        "endpoint": endpoint,
    }


def _key(server: str) -> str:
    return server.rstrip("/").lower()


def _file() -> Path:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return home / "stead" / "logins.json"


def _read() -> dict[str, dict[str, Any]]:
    try:
        said = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return {name: login for name, login in said.items() if _fit(login)} if isinstance(said, dict) else {}


def _fit(login: Any) -> bool:
    """Whether it is a login: people may edit the file."""
    if not isinstance(login, dict) or not isinstance(login.get("token"), str):
        return False
    words = all(isinstance(login.get(name, ""), str) for name in ("refresh", "client", "endpoint"))
    return words and isinstance(login.get("until") or 0, int | float)


def _write(logins: dict[str, dict[str, Any]]) -> Path:
    file = _file()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = file.with_suffix(f".{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(logins, indent=2), encoding="utf-8")
    fresh.replace(file)
    return file
