"""The built console belongs to its source, is small, and asks nobody but its own server for anything."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

from stead.console import folder

SOURCE = Path(__file__).parents[2] / "console"
NAMED = ("index.html", "package.json", "vite.config.ts", "tsconfig.json")
MOST = 150_000
"""Bytes of all of it, as they go over the wire."""


def digest() -> str:
    """Of all that the console is built from: sorted names and contents."""
    inside = [path for path in (SOURCE / "src").rglob("*") if path.is_file()]
    names = sorted([*NAMED, *(path.relative_to(SOURCE).as_posix() for path in inside)])
    whole = hashlib.sha256()
    for name in names:
        whole.update(f"{name}\0".encode() + (SOURCE / name).read_bytes() + b"\0")
    return whole.hexdigest()


def test_it_was_built_from_what_is_there() -> None:
    built = json.loads((folder() / "build.json").read_text())
    assert built == {"sources": digest()}, "the console is stale: run `make console`"


def test_it_is_small() -> None:
    files = [path for path in folder().rglob("*") if path.suffix in (".js", ".css", ".html", ".svg")]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < MOST


def test_it_has_no_script_of_its_own_in_the_page_and_nothing_from_elsewhere() -> None:
    page = (folder() / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"""(?:src|href)=["'](?!/console/)""", page) == []
    styles = "".join(path.read_text() for path in folder().rglob("*.css"))
    assert re.findall(r"@import|url\(\s*['\"]?(?:https?:)?//", styles) == []


def test_its_lock_has_hashes_and_no_addresses() -> None:
    lock = json.loads((SOURCE / "package-lock.json").read_text())
    packages = {name: what for name, what in lock["packages"].items() if name}
    assert packages
    assert [name for name, what in packages.items() if not what.get("integrity", "").startswith("sha512-")] == []
    assert [name for name, what in packages.items() if "resolved" in what] == []
