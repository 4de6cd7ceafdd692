"""Help of commands: an imperative sentence that fits a line, listed in sections that are read before any import."""

from __future__ import annotations

import inspect

import pytest

from stead.cli.commands import COMMANDS, SECTIONS
from stead.cli.lazy_import import LazyCommand
from tests.cli.remote import NOWHERE, command
from tools.docs.commands import leaves, options

LEAVES = dict(leaves())
LONGEST = 72


@pytest.mark.parametrize("name", LEAVES)
def test_summary_of_command_is_a_sentence_on_one_line(name: str) -> None:
    summary, _, rest = inspect.cleandoc(LEAVES[name].help).partition("\n")
    assert len(summary) <= LONGEST
    assert summary[0].isupper()
    assert summary.endswith(".")
    assert not rest or rest.startswith("\n")
    assert LEAVES[name].short_help == summary


@pytest.mark.parametrize("name", COMMANDS)
def test_summary_before_import_is_the_one_of_the_command(name: str) -> None:
    assert len(COMMANDS[name].summary) <= LONGEST
    assert inspect.cleandoc(LazyCommand()[name].help).partition("\n")[0] == COMMANDS[name].summary


def test_every_option_has_help_that_ends_as_a_sentence() -> None:
    helps = [(name, one.name, one.help or "") for name, leaf in LEAVES.items() for one in options(leaf)]
    assert [one for one in helps if not one[2].endswith(".")] == []


def test_help_lists_every_command_once_in_its_section(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = command(NOWHERE, monkeypatch)("--help").out.splitlines()
    begin = lines.index(f"{next(iter(SECTIONS))}:")
    found = [line.rstrip(":") if line[0] != " " else line.split()[0] for line in lines[begin:] if line[:3].strip()]
    assert found == [word for section, entries in SECTIONS.items() for word in (section, *entries)]
