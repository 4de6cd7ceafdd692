"""`stead support-bundle`: diagnostics in one archive, without secrets."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import stat
import sys
import tarfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from stead import __version__
from stead.cli.credentials import token_for
from stead.cli.doctor import examined, show
from stead.cli.output import Code, fail, line, note
from stead.cli.server_commands import Server, plain, reach
from stead.client import DEFAULT_SERVER, SteadError, SyncClient
from stead.secrets.scrubbing import HIDDEN, KNOWN, scrub

LOG = 5_000_000
"""Bytes of a log that are taken, the last ones."""

_NAMES = re.compile(
    r"pass(word|wd|phrase)?$|secret|token|credential|private|api.?key|(^|[_-])key$|authorization", re.I
)
"""Names whose values are secret."""

_PATTERNS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S),
    re.compile(r"(?<=://)([^/\s:@]*:)[^@\s/]+(?=@)"),
    re.compile(r"(?i)\b(bearer )\S+"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]+(\.[\w-]*)?"),
    re.compile(r"\bS[UAONC][A-Z2-7]{54,}\b"),
    re.compile(r"\bstead-(join-)?[\w-]{20,}"),
    re.compile(r"\bstead_[a-z0-9]{10}_[\w-]{43}"),
    re.compile(r"(?i)\b((?:[\w-]*(?:password|passwd|secret|token|api[_-]?key))[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&]+"),
)
_KEEP = (1, 2, 7)
"""Of those, whose first group says what it was, and stays."""


def support_bundle(
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="Archive to write, such as bundle.tar.gz.")],
    lines: Annotated[int, typer.Option(min=0, max=100_000, help="Number of journal lines, the latest.")] = 1000,
    redact: Annotated[
        bool,
        typer.Option("--redact", help="Replace paths and names of people by digests, and omit specs and facts."),
    ] = False,
    log: Annotated[
        list[Path] | None, typer.Option("--log", metavar="FILE", help="Log file to include. Repeatable.")
    ] = None,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Collect diagnostics into one archive, without secrets (admins only).

    They are the results of doctor, versions, settings, metrics, stuck operations, lanes, agents, the end of the
    journal, and logs. Secrets are left out: values under names like `password`, tokens, keys, and passwords in
    addresses. Read the archive all the same before you give it away.
    """
    if token := token_for(server):
        KNOWN.remember(token)
    for name, value in os.environ.items():
        if _NAMES.search(name):
            KNOWN.remember(value)
    hidden = _digested if redact else lambda text: text
    files: dict[str, str] = {}
    doctor = examined(server)
    files["doctor.json"] = _json(plain(doctor))
    files["about.json"] = _json(_about(doctor.version, server))
    with reach(server) as client:
        for name, ask in _asked(lines).items():
            try:
                files[name] = _text(ask(client), redact, hidden)
            except SteadError as error:
                files[f"{name}.missing"] = f"{error}\n"
    for path in log or []:
        files[f"logs/{path.name}"] = _tail(path)
    _write(to, {name: clean(text) for name, text in files.items()})
    show(doctor)
    note("")
    line(f"{to}: {len(files)} files, {to.stat().st_size:,} bytes")


def _asked(lines: int) -> dict[str, Callable[[SyncClient], Any]]:
    def journal(client: SyncClient) -> Any:
        end = client.journal_page(limit=1).end
        found: list[Any] = []
        page = client.journal_page(after=max(0, end - lines), limit=500)
        while page.items and len(found) < lines:  # others go on writing
            found += page.items
            page = client.journal_page(after=page.next, limit=500)
        return found[:lines]

    return {
        "metrics.txt": lambda client: client.metrics(),
        "overview.json": lambda client: client.overview(),
        "stuck.json": lambda client: client.stuck_page(limit=200),
        "lanes.json": lambda client: client.lane_page(limit=500),
        "agents.json": lambda client: client.agents(),
        "journal.json": journal,
    }


def _text(value: Any, redact: bool, hidden: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return value
    return _json(without_secrets(plain(value), redact, hidden))


def without_secrets(value: Any, redact: bool, hidden: Callable[[str], str], name: str = "") -> Any:
    """The same, without values under names that say they are secret; redacted, also without what people chose."""
    if _NAMES.search(name) and not isinstance(value, bool | None):
        return HIDDEN
    if isinstance(value, dict):
        left = ("change", "facts", "spec", "request") if redact else ()
        return {k: without_secrets(v, redact, hidden, str(k)) for k, v in value.items() if k not in left}
    if isinstance(value, list | tuple):
        return [without_secrets(each, redact, hidden, name) for each in value]
    if (
        isinstance(value, str)
        and redact
        and (value.startswith("/") or name in ("principal", "by", "says", "why", "message", "reason"))
    ):
        return hidden(value)
    return value


def _digested(text: str) -> str:
    """The same for the same text, so that it can be followed; of a path, part by part."""
    if text.startswith("/"):
        return "/".join(part and hashlib.sha256(part.encode()).hexdigest()[:8] for part in text.split("/"))
    return text and hashlib.sha256(text.encode()).hexdigest()[:8]


def clean(text: str) -> str:
    """A text without what looks like a secret, or is known to be one."""
    for number, pattern in enumerate(_PATTERNS):
        text = pattern.sub(rf"\g<1>{HIDDEN}" if number in _KEEP else HIDDEN, text)
    return scrub(text)


def _about(version: str, server: str) -> Mapping[str, Any]:
    settings = {
        name: HIDDEN if _NAMES.search(name) else value
        for name, value in sorted(os.environ.items())
        if name.startswith(("STEAD_", "OTEL_", "PG"))
    }
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "server": {"address": server, "version": version},
        "client": {"version": __version__, "python": sys.version, "platform": platform.platform()},
        "settings": settings,
    }


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG))
            return file.read().decode(errors="replace")
    except OSError as error:
        fail(f"{path} cannot be read: {error.strerror}", Code.USAGE)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, default=str, ensure_ascii=False) + "\n"


def _write(to: Path, files: Mapping[str, str]) -> None:
    """Readable for its owner alone."""
    try:
        with open(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as raw:  # noqa: PTH123 - by its mode
            if stat.S_ISREG(os.fstat(raw.fileno()).st_mode):  # and no device of everybody's
                os.fchmod(raw.fileno(), 0o600)
            with tarfile.open(fileobj=raw, mode="w:gz") as tar:
                for name, text in files.items():
                    about = tarfile.TarInfo(f"stead-support/{name}")
                    about.size, about.mtime, about.mode = len(text.encode()), int(time.time()), 0o600
                    tar.addfile(about, io.BytesIO(text.encode()))
    except OSError as error:
        fail(f"{to} cannot be written: {error.strerror}", Code.USAGE)
