"""Files that hold keys: for their owner alone, and never written over."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FOLDER, FILE = 0o700, 0o600


class FileExists(Exception):
    """Something is there already, and is not written over."""


def make_folder(folder: Path) -> None:
    """A folder for its owner alone; it may be there already, and then it is for its owner alone from now on."""
    folder.mkdir(mode=FOLDER, parents=True, exist_ok=True)
    folder.chmod(FOLDER)


def write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder, all of them new."""
    for name in files:
        if (folder / name).exists():
            raise FileExists(f"{folder / name} is there already, and is not written over")
    make_folder(folder)
    for name, text in files.items():
        make_folder((folder / name).parent)
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - it was opened with its mode
            file.write(text)


def replace(folder: Path, files: Mapping[str, str]) -> None:
    """Write files anew, each at once: whoever reads one gets the old or the new, whole."""
    for name, text in files.items():
        beside = folder / f".{name}.new"
        beside.unlink(missing_ok=True)
        write_new(folder, {beside.name: text})
        beside.replace(folder / name)
