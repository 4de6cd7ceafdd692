"""The page on the architecture names files and packages that exist, and its picture the same ones."""

from __future__ import annotations

import re
from pathlib import Path

from tools.docs.architecture import ARROWS, BOXES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/stead"
PAGE = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([\w/]+(?:/|\.py|\.sql))`", PAGE)) - {"src/stead/"}
DRAWN = {file for box in BOXES for file in box.files}


def test_files_and_packages_of_the_page_exist() -> None:
    assert len(NAMED) > 30
    assert sorted(name for name in NAMED if not (SOURCE / name).exists()) == []


def test_files_of_the_picture_exist_and_are_on_the_page() -> None:
    assert sorted(name for name in DRAWN if not (SOURCE / name).is_file()) == []
    assert sorted(DRAWN - NAMED) == []


def test_each_step_of_the_picture_is_on_the_page() -> None:
    steps = set(re.findall(r"^(\d+)\. ", PAGE, re.M))
    steps |= {step for found in re.findall(r"^\* \*\*([a-z, ]+)\.\*\*", PAGE, re.M) for step in found.split(", ")}
    assert steps == {number for number, _, _ in ARROWS}
    assert "(8a)" in PAGE
