"""The dashboard, the alerts and their pages go together with what is really told, and with the commands there are."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from stead.cli.main import app
from stead.telemetry import metrics
from tests.telemetry.alert_faults import FAULTS

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"][0]["rules"]
ALERTS = [rule["alert"] for rule in RULES]
PARTS = ("What it means", "How to look", "What to do", "When it ends")
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "stead.json").read_text())
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def told() -> dict[str, set[str]]:
    """Every name that is told, and the labels that it may have."""
    names: dict[str, set[str]] = {}
    for collector in metrics.REGISTRY._collector_to_names:
        labels = set(getattr(collector, "_labelnames", ()))
        for family in collector.collect():
            endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(family.type, ("",))
            names |= {f"{family.name}{ending}": labels | {"le"} for ending in endings}
    return names


def unknown(query: str) -> set[str]:
    """Metrics of a query that nobody tells, and labels that they do not have."""
    known = told()
    wrong = {name for name in re.findall(r"\b(?:stead|process)_\w+", query) if name not in known}
    for name, body in re.findall(r"\b((?:stead|process)_\w+)\{([^}]*)\}", query):
        used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", body))
        wrong |= {f"{name}: {label}" for label in used - known.get(name, set()) - {"part", "job", "instance"}}
    return wrong


def commands(text: str) -> list[str]:
    """Commands of the program in a text: lines of examples, and what stands in backquotes."""
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.S))
    return re.findall(r"^stead .*", blocks, re.M) + re.findall(r"`(stead [a-z][^`]*)`", text)


def wrong_words(command: str) -> str:
    """What of a command there is not; empty where all is there."""
    here: Any = typer.main.get_command(app)
    context = here.context_class(here)
    words = command.split()[1:]
    while words and hasattr(here, "get_command"):
        found = here.get_command(context, words[0])
        if found is None:
            return f"{command}: there is no {words[0]}"
        here, words = found, words[1:]
    options = {name for parameter in here.params for name in parameter.opts}
    missing = [word for word in words if word.startswith("--") and word.partition("=")[0] not in options]
    return f"{command}: there is no {', '.join(missing)}" if missing else ""


def test_the_alerts_say_what_they_should() -> None:
    for words in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        ended = subprocess.run(["promtool", *words], cwd=PROMETHEUS, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_alert_has_a_fault_that_raises_it() -> None:
    assert list(FAULTS) == ALERTS


def test_every_alert_is_tried_broken_and_well() -> None:
    tried = yaml.safe_load((PROMETHEUS / "alerts_test.yml").read_text())["tests"]
    seen = {(one["alertname"], bool(one["exp_alerts"])) for test in tried for one in test["alert_rule_test"]}
    assert seen == {(alert, fires) for alert in ALERTS for fires in (True, False)}


@pytest.mark.parametrize("query", [*QUERIES, *(rule["expr"] for rule in RULES)])
def test_what_is_asked_for_is_told(query: str) -> None:
    assert unknown(query) == set()


def test_a_metric_or_a_label_that_there_is_not_is_found() -> None:
    assert unknown("rate(stead_nothing_total[5m])") == {"stead_nothing_total"}
    assert unknown('stead_agents{lane="a"}') == {"stead_agents: lane"}


def test_the_dashboard_shows_every_metric() -> None:
    shown = set(re.findall(r"\bstead_\w+", " ".join(QUERIES)))
    missing = {
        family.name
        for collector in metrics.REGISTRY._collector_to_names
        for family in collector.collect()
        if family.name.startswith("stead_") and not any(name.startswith(family.name) for name in shown)
    }
    assert missing == set()


@pytest.mark.parametrize("rule", RULES, ids=ALERTS)
def test_every_alert_has_a_page_with_what_one_needs(rule: dict[str, Any]) -> None:
    page = ROOT / rule["annotations"]["runbook"]
    assert page == ROOT / "docs" / "runbooks" / f"{rule['alert']}.md"
    text = page.read_text()
    assert text.startswith(f"# {rule['alert']}\n")
    found = re.split(r"^## (.*)\n", text, flags=re.M)[1:]
    assert tuple(found[::2]) == PARTS
    assert all(part.strip() for part in found[1::2])
    assert commands(found[3]), "nobody is told how to look"
    assert rule["labels"]["severity"] in ("page", "ticket")


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "runbooks").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_names_commands_that_there_are_and_an_alert(page: Path) -> None:
    assert [wrong for command in commands(page.read_text()) if (wrong := wrong_words(command))] == []
    assert page.stem in (*ALERTS, "index")


def test_the_list_of_pages_is_whole() -> None:
    listed = re.findall(r"^\| \[(\w+)\]\(\1\.md\)", (ROOT / "docs" / "runbooks" / "index.md").read_text(), re.M)
    assert listed == ALERTS


def test_what_doctor_says_to_do_can_be_done() -> None:
    text = (ROOT / "src" / "stead" / "controller" / "health" / "doctor.py").read_text()
    said = re.findall(r"\bstead (?:agent|lane|pki|stuck|operation)[a-z -]*", text)
    assert said
    cut = [re.sub(r" (says|will|which|for|who).*", "", command) for command in said]
    assert [wrong for command in cut if (wrong := wrong_words(command))] == []


def test_what_is_said_of_commands_in_the_program_is_so() -> None:
    texts = [file.read_text() for file in sorted((ROOT / "src" / "stead").rglob("*.py"))]
    found = [command for text in texts for command in re.findall(r"`(stead [a-z][^`{]*)`", text)]
    said = {re.split(r" [A-Z\[<|…]", command)[0] for command in found}
    assert len(said) > 40
    short = {command for command in said if command.startswith("stead journal shop")}  # `show` is left out
    wrong = {command: wrong_words(command.removesuffix(" --help")) for command in said - short}
    assert {command: why for command, why in wrong.items() if why} == {}


def test_a_command_that_there_is_not_is_found() -> None:
    assert wrong_words("stead lane list") == ""
    assert wrong_words("stead lane drop") == "stead lane drop: there is no drop"
    assert wrong_words("stead stuck --ever") == "stead stuck --ever: there is no --ever"
