"""The page of who may what: its policies are tried with its cases, and say what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.remote import NOWHERE, command
from tests.docs.blocks import DOCS, fenced, steps


def test_the_policies_of_the_page_do_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = list(fenced(DOCS / "access.md"))
    keep, desk, lab = (text for language, text in blocks if language == "cedar")
    (cases,) = (text for language, text in blocks if language == "yaml")
    for name, text in (("keep.cedar", keep), ("desk.cedar", desk), ("lab.cedar", lab), ("policies.yaml", cases)):
        (tmp_path / name).write_text(text)
    (step,) = (
        step
        for language, text in blocks
        if language == "console"
        for step in steps(text)
        if step.command.startswith("stead policy test")
    )
    answer = command(NOWHERE, monkeypatch)("policy", "test", str(tmp_path / "policies.yaml"))
    assert answer.code == 0
    assert (*answer.out.splitlines(), *answer.err.splitlines()) == step.output
