"""The documentation is whole: all that there is stands in it, and what stands in it is there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stead.api.problem_codes import HELP, TITLES
from stead.cli.output import Code as Exit
from stead.drivers import registry
from stead.lifecycle.decision import Code
from tests.description import OPENAPI
from tests.docs.blocks import DOCS, ROOT, commands, fenced, pages, steps
from tools.docs import API, CLI, CONFIGURATION, ERRORS, configuration
from tools.docs.attributes import sentences
from tools.docs.commands import leaves, options, root
from tools.docs.endpoints import endpoints

LEAVES = dict(leaves())
TYPED = {"console": steps, "sh": commands}
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def text(page: Path) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


# The command line


@pytest.mark.parametrize("command", LEAVES)
def test_a_command_is_in_the_reference_with_an_example(command: str) -> None:
    assert f"# `{command}`\n" in text(CLI)
    example = str(LEAVES[command].epilog)
    assert example.startswith(f"Example: {command}")
    assert example in text(CLI)
    assert wrong(example.removeprefix("Example: ")) == ""


def wrong(line: str) -> str:
    """What is not there of what a command line names."""
    words = iter(shlex.split(line)[1:])
    here: Any = root()
    for word in words:
        if word == "--":
            return ""  # what follows is not ours
        flag = word.partition("=")[0]
        if flag.startswith("-") and flag != "-":
            known = {one: option for option in here.params for one in (*option.opts, *option.secondary_opts)}
            if flag not in (*known, "--help"):
                return f"{here.name} has no option {flag}"
            if flag in known and "=" not in word and not known[flag].is_flag:
                next(words, None)
        elif hasattr(here, "commands"):
            if word not in here.commands and hasattr(here, "default"):
                here = here.commands[here.default]
                continue
            if word not in here.commands:
                return f"{here.name} has no command {word}"
            here = here.commands[word]
    return ""


def typed() -> Iterator[tuple[str, str]]:
    """Every call of `stead` in a block that is typed, with the page it stands on; not what the reference makes up."""
    for page in pages():
        if page != ROOT / CLI:
            for language, block in fenced(page):
                for step in TYPED[language](block) if language in TYPED else ():
                    for call in calls(step.command):
                        yield name(page), call


def calls(command: str) -> Iterator[str]:
    """The parts of a command that begin with `stead`."""
    flat = command.partition("<<'")[0].replace("\\\n", " ")
    lexer = shlex.shlex(flat, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    call: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("|;&<>"):
            if call[:1] == ["stead"]:
                yield shlex.join(call[:-1] if call[-1].isdigit() and word.startswith(">") else call)
            call = []
        else:
            call.append(word)


@pytest.mark.parametrize(("page", "call"), sorted(set(typed())))
def test_what_is_typed_names_commands_and_options_that_exist(page: str, call: str) -> None:
    assert wrong(call) == "", page


def test_a_wrong_command_line_would_be_noticed() -> None:
    assert wrong("stead mci craete shop/web") == "mci has no command craete"
    assert wrong("stead mci create shop/web --fiel mci.yaml") == "create has no option --fiel"
    assert wrong("stead mci create shop/web -f -") == ""
    assert list(calls("stead mci example > a.yaml; cat a | stead vm list -o name 2> log")) == [
        "stead mci example",
        "stead vm list -o name",
    ]


def test_commands_are_typed_in_blocks_that_say_so() -> None:
    """So that the test above sees them."""
    for page in pages():
        assert not [block for language, block in fenced(page) if language != "console" and block.startswith("$ ")], (
            page
        )


# The HTTP interface


@pytest.mark.parametrize("endpoint", [endpoint for endpoint, _ in endpoints(OPENAPI)])
def test_an_endpoint_is_in_the_reference(endpoint: str) -> None:
    assert f"### `{endpoint}`\n" in text(API)


@pytest.mark.parametrize(
    ("endpoint", "does"), list(endpoints(OPENAPI)), ids=lambda one: one if isinstance(one, str) else ""
)
def test_an_endpoint_says_what_it_does_and_takes(endpoint: str, does: dict[str, Any]) -> None:
    assert does["description"]
    section = text(API).split(f"### `{endpoint}`\n", 1)[1].split("\n##", 1)[0]
    assert all(
        f"| `{parameter['name']}` | {parameter['in']} |" in section for parameter in does.get("parameters", ())
    )


# Errors


@pytest.mark.parametrize("code", TITLES)
def test_a_problem_has_an_explanation(code: str) -> None:
    assert all(HELP[code])
    status, title = TITLES[code]
    assert f"| `{code}` | {status} | {title}. | {HELP[code].means} | {HELP[code].do} |" in text(ERRORS)


def test_nothing_is_explained_that_is_no_problem() -> None:
    assert list(HELP) == list(TITLES)


@pytest.mark.parametrize("code", Code)
def test_a_refusal_has_an_explanation(code: Code) -> None:
    assert f"| `{code}` | {sentences(Code)[code.name]} | " in text(ERRORS)


@pytest.mark.parametrize("code", Exit)
def test_an_exit_code_has_an_explanation(code: Exit) -> None:
    assert f"| {code.value} | {sentences(Exit)[code.name]} |" in text(ERRORS)


# Settings


def test_every_variable_is_in_the_reference() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    found = {variable for source in sources for variable in re.findall(r"\bSTEAD_[A-Z_]+\b", source)}
    assert len(found) >= 8
    assert sorted(variable for variable in found if f"| `{variable}` | " not in text(CONFIGURATION)) == []


@pytest.mark.parametrize("process", configuration.PROCESSES)
def test_every_option_of_a_process_is_in_the_reference(process: str) -> None:
    section = text(CONFIGURATION).split(f"### stead {process}\n", 1)[1].split("\n##", 1)[0]
    for option in options(LEAVES[f"stead {process}"]):
        assert f"| `{option.opts[0]}` | " in section
        assert option.help


@pytest.mark.parametrize("driver", registry.names())
def test_every_setting_of_a_driver_is_in_the_reference_and_has_a_meaning(driver: str) -> None:
    config = configuration.DRIVERS[driver]
    section = text(CONFIGURATION).split(f"### {driver}\n", 1)[1].split("\n##", 1)[0]
    for field in config.__struct_fields__:
        assert re.search(rf"^\| `{field}` \| .* \| \S.* \|$", section, re.M), field
    assert "\nCredentials: " in section


# Links, and the way through the pages


def anchors(page: Path) -> set[str]:
    """As a reader's browser finds them."""
    made = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    heads = re.findall(r"^#+ (.*)$", made, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", pages(), ids=name)
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in LINK.findall(prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def listed(nav: Any) -> Iterator[str]:
    match nav:
        case str():
            yield nav
        case list():
            for entry in nav:
                yield from listed(entry)
        case dict():
            for entry in nav.values():
                yield from listed(entry)


def test_every_page_is_in_the_navigation_once() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    found = list(listed(site["nav"]))
    assert sorted(found) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_site_asks_nobody_else_for_anything() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert site["strict"] is True
    assert site["theme"]["font"] is False
    assert not {"extra_css", "extra_javascript", "repo_url"} & set(site)
    assert "analytics" not in site.get("extra", {})
