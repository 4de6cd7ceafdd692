"""The repository as a whole: it names no place it was made in, and its files stay small."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-bench.lock", "requirements-docs.lock"]

# Put together, so that this file does not find itself.
REGISTRIES = [".".join(parts) for parts in [("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org")]]
REGISTRIES += [".".join(parts) for parts in [("npmjs", "com"), ("yarnpkg", "com"), ("crates", "io")]]
FOLDERS = [f"/{folder}/" for folder in ("work", "root")]
PLACES = re.compile("|".join([*map(re.escape, REGISTRIES), rf"(?<![\w.~}}])(?:{'|'.join(FOLDERS)})"]))


@cache
def files() -> list[Path]:
    """Every file that is tracked, or would be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [path for name in names if name and (path := ROOT / name).is_file()]


def named_places(text: str) -> list[str]:
    return PLACES.findall(text)


def test_no_file_names_a_registry_or_a_folder_of_some_machine() -> None:
    found = {str(path.relative_to(ROOT)): named_places(path.read_text(errors="replace")) for path in files()}
    assert {name: places for name, places in found.items() if places} == {}


@pytest.mark.parametrize("place", [*REGISTRIES, *FOLDERS])
def test_a_place_would_be_found(place: str) -> None:
    assert named_places(f"see {place}simple") == [place]


@pytest.mark.parametrize("name", [*LOCKS, "tests/heavy/openstack/requirements.lock"])
def test_the_lock_has_a_hash_for_every_package_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    entries = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    assert entries
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert re.findall(r"\S+://\S+|^\s*-(?!-hash=).*", text, flags=re.MULTILINE) == []


def test_the_development_lock_pins_what_the_lock_pins() -> None:
    shipped, development, measured, written = (
        set(re.findall(r"^\S+==\S+", (ROOT / name).read_text(), re.MULTILINE)) for name in LOCKS
    )
    assert shipped < development
    assert shipped < measured
    assert shipped < written


def test_a_source_file_is_one_idea() -> None:
    sources = (ROOT / "src").rglob("*.py")
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources}
    assert {name: length for name, length in lengths.items() if length >= 450} == {}
