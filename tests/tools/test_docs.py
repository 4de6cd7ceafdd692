"""The made pages: that they hold what the code says, and that a stale one is noticed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import typer

from stead.catalog import FAMILIES, KINDS
from stead.cli.main import app
from stead.lifecycle.document import load
from tools import docs
from tools.docs import CLI, LIFECYCLES, ROOT


@cache
def made() -> dict[Path, str]:
    """All of them. They take a while, for which only those wait who look at them."""
    return docs.pages()


def cells(page: str, heading: str) -> list[list[str]]:
    """The rows of the table below a heading."""
    section = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_all_of_its_lifecycle(kind: str) -> None:
    lifecycle, page = KINDS[kind], made()[LIFECYCLES / f"{kind}.md"]
    assert f"\n# {kind}\n\n{lifecycle.description}\n" in page
    assert f"]({kind}.svg)" in page
    assert [row[0] for row in cells(page, "States")] == [state.name for state in lifecycle.states]
    assert [row[3] for row in cells(page, "States")] == [state.description for state in lifecycle.states]
    assert [row[0] for row in cells(page, "Actions")] == [
        f"**{a.name}**<br>{a.description}" for a in lifecycle.actions
    ]
    assert len(cells(page, "Transitions")) == len(lifecycle.table)
    (document,) = re.findall(r"<details markdown>.*?```yaml\n(.*?)```\n\n</details>", page, flags=re.DOTALL)
    assert load(document) == lifecycle


@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_of_a_table_are_as_long_as_its_head(kind: str) -> None:
    for line, after in zip(*[(page := made()[LIFECYCLES / f"{kind}.md"].splitlines()), page[1:]], strict=False):
        if line.startswith("|") and after.startswith("|"):
            assert line.replace("\\|", "").count("|") == after.replace("\\|", "").count("|")


def test_the_index_leads_to_every_kind_in_its_family() -> None:
    index = made()[LIFECYCLES / "README.md"]
    assert re.findall(r"\]\((\w+)\.md\)", index) == [kind for kinds in FAMILIES.values() for kind in kinds]
    assert index.count("\n## ") == len(FAMILIES)


def test_links_between_pages_lead_somewhere() -> None:
    for path, text in made().items():
        for target in re.findall(r"\]\(([\w.-]+)\)", text):
            assert path.parent / target in made(), (path, target)


def test_the_command_line_page_has_every_command_and_option() -> None:
    page = made()[CLI]

    def walk(command: object, name: str) -> None:
        assert f"# `{name}`\n" in page
        section = page.split(f"# `{name}`\n", 1)[1].split("\n#", 1)[0]
        for parameter in command.params:  # type: ignore[attr-defined]
            if parameter.param_type_name == "option" and not parameter.hidden:
                assert any(option in section for option in parameter.opts), (name, parameter.opts)
        for child, below in getattr(command, "commands", {}).items():
            walk(below, f"{name} {child}")

    walk(typer.main.get_command(app), "stead")
    assert all(f"\n| {code} | " in page for code in (0, 1, 2, 3, 4, 5, 124))


def test_what_is_made_is_what_is_there() -> None:
    assert docs.stale(made()) == []


def test_what_was_written_is_not_stale_and_what_was_changed_is(tmp_path: Path) -> None:
    made = {LIFECYCLES / "a.md": "a\n", LIFECYCLES / "a.svg": "<svg/>\n", CLI: "cli\n"}
    assert docs.stale(made, tmp_path) == sorted(made)
    assert docs.write(made, tmp_path) == sorted(made)
    assert docs.stale(made, tmp_path) == []
    assert docs.write(made, tmp_path) == []
    (tmp_path / LIFECYCLES / "a.md").write_text("b\n")
    (tmp_path / LIFECYCLES / "gone.svg").write_text("<svg/>")
    (tmp_path / CLI).unlink()
    assert docs.stale(made, tmp_path) == [CLI, LIFECYCLES / "a.md", LIFECYCLES / "gone.svg"]
    docs.write(made, tmp_path)
    assert docs.stale(made, tmp_path) == []
    assert not (tmp_path / LIFECYCLES / "gone.svg").exists()


def test_check_names_what_is_stale_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    all_ = made()
    monkeypatch.setattr(docs, "pages", lambda: {**all_, CLI: all_[CLI] + "more\n"})
    before = (ROOT / CLI).read_bytes()
    assert docs.main(["--check"]) == 1
    assert capsys.readouterr().out == f"stale {CLI}\n"
    assert (ROOT / CLI).read_bytes() == before
    monkeypatch.setattr(docs, "pages", lambda: all_)
    assert docs.main(["--check"]) == 0
    assert capsys.readouterr().out == ""
