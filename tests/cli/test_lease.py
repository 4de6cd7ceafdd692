"""`stead lease` and `stead host`, as somebody at a terminal or a script sees them."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import typer
import yaml

from stead.cli import lease_options
from stead.cli.main import app
from stead.cli.output import Code
from tests.api.cell import Cell
from tests.cli.remote import Stead

MONDAY = "2030-01-07T08:00:00Z"
NOON = "2030-01-07T12:00:00Z"


def hosts(stead: Stead, ns: str, *names: str) -> None:
    """Hosts that nobody else books: tests share the cell."""
    for name in names:
        words = ("host", "add", f"{ns}-{name}", "--lane", "rack.lab", "--property", f"of={ns}")
        assert stead(*words, "--property", "cpus=16").code == Code.DONE


def book(stead: Stead, ns: str, name: str, *words: str, start: str = MONDAY, end: str = NOON) -> Any:
    return stead("lease", "create", f"{ns}/{name}", "--from", start, "--to", end, "--with", f"of={ns}", *words)


def shown(stead: Stead, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stead("lease", "show", path, "-o", "json").out)
    return found


def test_a_lease_from_its_booking_to_its_end(cell: Cell, ns: str, stead: Stead) -> None:
    hosts(stead, ns, "h1", "h2")
    made = book(stead, ns, "one", "--hosts", "2", "--with", "cpus>=16", start="now", end="+2h")
    assert (made.code, made.rows[1][1:]) == (Code.DONE, ["create", f"/{ns}/one", "succeeded"])
    found = shown(stead, f"{ns}/one")
    begins, ends = (datetime.fromisoformat(found[name]) for name in ("start", "end"))
    assert timedelta(hours=2) - timedelta(seconds=5) < ends - begins < timedelta(hours=2, seconds=5)
    assert found["reservations"][0]["properties"] == {"of": ns, "cpus": ">= 16"}
    head, row = stead("lease", "list", ns).rows
    assert head == ["PATH", "STATUS", "FROM", "TO", "HOSTS"]
    assert (row[:2], row[4:]) == ([f"/{ns}/one", "PENDING"], [f"{ns}-h1,", f"{ns}-h2"])
    assert stead("lease", "list", f"{ns}/one", "-o", "name").out == f"/{ns}/one\n"
    cell.obey(ns)
    cell.struck()
    assert stead("lease", "end", f"{ns}/one").code == Code.DONE
    assert shown(stead, f"{ns}/one")["status"] == "TERMINATED"
    assert re.search(r"^end_lease .* DONE +(119m|2h) early$", stead("lease", "show", f"{ns}/one").out, re.M)
    assert stead("lease", "delete", f"{ns}/one").code == Code.DONE
    gone = stead("lease", "show", f"{ns}/one")
    assert (gone.code, f"there is no lease /{ns}/one" in gone.err) == (Code.NOT_FOUND, True)


def test_a_booking_that_cannot_be_says_why_and_when_it_could(ns: str, stead: Stead) -> None:
    hosts(stead, ns, "h1")
    assert book(stead, ns, "one").code == Code.DONE
    refused = book(stead, ns, "two", start="2030-01-07T10:00:00Z", end="2030-01-07T14:00:00Z")
    assert refused.code == Code.FAILED
    assert (
        "  because: r0 wants 1 such host from 2030-01-07T10:00:00Z to 2030-01-07T14:00:00Z, and there is not: "
        in (refused.err)
    )
    assert f"the next time there is is {NOON}\n" in refused.err
    assert stead("lease", "list", ns, "-o", "name").out == f"/{ns}/one\n"


def test_an_update_changes_what_is_said_and_nothing_else(ns: str, stead: Stead) -> None:
    hosts(stead, ns, "h1", "h2", "h3")
    book(stead, ns, "one", "--before-end", "2h", "--webhook", "http://127.0.0.1:1/")
    path = f"{ns}/one"
    assert stead("lease", "update", path, "--to", "+6h").code == Code.DONE
    found = shown(stead, path)
    assert (found["start"], found["end"], found["before_end"]) == (
        MONDAY,
        "2030-01-07T14:00:00Z",
        NOON,
    )
    assert stead("lease", "update", path, "--hosts", "2").code == Code.DONE
    assert [part["hosts"] for part in shown(stead, path)["reservations"]] == [[f"{ns}-h1", f"{ns}-h2"]]
    assert stead("lease", "update", path, "--with", f"of={ns}", "--with", "cpus=16").code == Code.DONE
    (part,) = shown(stead, path)["reservations"]
    assert (part["count"], part["properties"]) == (2, {"of": ns, "cpus": 16})
    assert stead("lease", "update", path, "--before-end", "0", "--from", "2030-01-07T09:00:00Z").code == Code.DONE
    found = shown(stead, path)
    assert (found["start"], found["before_end"]) == ("2030-01-07T09:00:00Z", None)
    too_many = stead("lease", "update", path, "--hosts", "9")
    assert (too_many.code, "r0 wants 9 such hosts" in too_many.err) == (Code.FAILED, True)
    assert shown(stead, path)["reservations"] == found["reservations"]
    nothing = stead("lease", "update", path)
    assert (nothing.code, "an update needs one of them" in nothing.err) == (Code.USAGE, True)
    planned = stead("lease", "update", path, "--hosts", "1", "--dry-run")
    assert (planned.code, shown(stead, path)["reservations"]) == (Code.DONE, found["reservations"])


def test_a_file_has_hosts_of_several_kinds(ns: str, stead: Stead) -> None:
    hosts(stead, ns, "h1", "h2", "h3")
    text = f"""
start: {MONDAY}
end: {NOON}
labels: {{team: blue}}
reservations:
  - {{name: big, count: 1, properties: {{of: {ns}, cpus: '>= 8'}}}}
  - {{name: any, count: 2, properties: {{of: {ns}}}}}
"""
    assert stead("lease", "create", f"{ns}/one", "-f", "-", stdin=text).code == Code.DONE
    found = shown(stead, f"{ns}/one")
    assert {part["name"]: len(part["hosts"]) for part in found["reservations"]} == {"big": 1, "any": 2}
    assert (found["start"], found["end"], found["labels"]) == (MONDAY, NOON, {"team": "blue"})
    unclear = stead("lease", "update", f"{ns}/one", "--hosts", "1")
    assert (unclear.code, "several kinds of hosts" in unclear.err) == (Code.USAGE, True)
    later = yaml.safe_dump({"end": "2030-01-07T13:00:00Z"})
    assert stead("lease", "update", f"{ns}/one", "-f", "-", stdin=later).code == Code.DONE
    assert shown(stead, f"{ns}/one")["end"] == "2030-01-07T13:00:00Z"
    local = stead("lease", "create", f"{ns}/two", "-f", "-", stdin=f"start: {MONDAY[:-1]}\nend: {NOON}")
    assert (local.code, "the offset from UTC" in local.err) == (Code.USAGE, True)


def test_all_of_a_lease_is_shown(cell: Cell, ns: str, stead: Stead) -> None:
    hosts(stead, ns, "h1", "h2")
    book(stead, ns, "one", start="now", end="+1h")
    cell.obey(ns)
    cell.struck()
    assert stead("host", "fail", f"{ns}-h1", "--reason", "its fan stands still").code == Code.DONE
    cell.run(cell.store.leases.flag_degraded(datetime.now(UTC).timestamp()))
    cell.struck()
    out = stead("lease", "show", f"{ns}/one").out
    assert re.search(r"^status +ACTIVE$", out, re.M)
    assert re.search(r"^degraded +yes$", out, re.M)
    assert re.search(rf"^r0 +active +1 +{ns}-h1 +of {ns} +missing_resources +rack\.lab$", out, re.M)
    assert re.search(r"^start_lease +\S+Z +DONE +\d+\.\ds$", out, re.M)
    assert re.search(r"^end_lease +\S+Z +UNDONE$", out, re.M)
    assert re.search(r"^before_end_lease +\S+Z +0 *$", out, re.M)  # told at the start: it lasts no longer
    assert [f"/{ns}/one", "ACTIVE,", "degraded"] == stead("lease", "list", ns).rows[1][:3]
    cell.obeyed.pop(ns)
    asked = stead("lease", "end", f"{ns}/one", "--detach")
    (operation,) = [row[0] for row in asked.rows[1:]]
    assert re.search(rf"^operation +terminate by ann, {operation}", stead("lease", "show", f"{ns}/one").out, re.M)
    assert yaml.safe_load(stead("lease", "show", f"{ns}/one", "-o", "yaml").out)["operation"] == operation
    assert stead("lease", "show", f"{ns}/one", "-o", "name").out == f"/{ns}/one\n"


def test_the_calendar_is_a_picture(ns: str, stead: Stead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    hosts(stead, ns, "h1", "h2", "h3")
    book(stead, ns, "one", "--hosts", "2")
    book(stead, ns, "two", start="2030-01-07T20:00:00Z", end="2030-01-08T08:00:00Z")
    stead("host", "fail", f"{ns}-h3", "--reason", "its fan stands still")
    words = ("lease", "calendar", "--from", MONDAY)
    said = stead(*words, "--to", "+1d")
    lines = said.out.splitlines()
    assert said.code == Code.DONE
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in said.out
    assert lines[0].startswith("2030-01-07T08:00:00Z to 2030-01-08T08:00:00Z, ")
    rows = {line.split()[0]: line.split()[1] for line in lines[2:] if line.startswith(f"{ns}-")}
    legend = {line.split()[1]: line.split()[0] for line in lines if f" /{ns}/" in line}
    one, two = legend[f"/{ns}/one"], legend[f"/{ns}/two"]
    columns = len(rows[f"{ns}-h2"])
    assert re.fullmatch(rf"{one}{{{columns // 6},{columns // 6 + 1}}}\.+", rows[f"{ns}-h2"])
    assert re.fullmatch(rf"{one}+\.+{two}{{{columns // 2},{columns // 2 + 1}}}", rows[f"{ns}-h1"])
    assert rows[f"{ns}-h3"] == "!" * columns
    assert f"!  {ns}-h3 failed: its fan stands still" in lines
    noon = lines[1].index("12:00") - (len(lines[2]) - len(lines[2].split()[-1]))
    assert rows[f"{ns}-h2"][noon - 1 : noon + 1] in (f"{one}{one}", f"{one}.")
    assert "01-08" in lines[1]
    found = json.loads(stead(*words, "--days", "1", "-o", "json").out)
    assert [booked["lease"] for booked in found["booked"] if booked["host"] == f"{ns}-h2"] == [f"/{ns}/one"]
    assert found["end"] == "2030-01-08T08:00:00Z"
    assert stead(*words, "--days", "1", "--to", "+1h").code == Code.USAGE


def test_how_late_leases_begin_and_end(cell: Cell, ns: str, stead: Stead) -> None:
    hosts(stead, ns, "h1")
    began = lease_options.written(datetime.now(UTC) - timedelta(minutes=2))
    assert book(stead, ns, "one", start=began, end="+1h").code == Code.DONE
    cell.obey(ns)
    cell.struck()
    head, row = stead("lease", "lateness").rows
    assert head == ["EVENTS", "MEDIAN", "P99", "MAX"]
    assert float(row[3].removesuffix("s")) >= 120
    found = json.loads(stead("lease", "lateness", "--hours", "1", "-o", "json").out)
    assert found["fired"] >= int(row[0]) > 0
    assert stead("lease", "end", f"{ns}/one").code == Code.DONE  # before its time, which is neither late nor early
    assert json.loads(stead("lease", "lateness", "--hours", "1", "-o", "json").out) == found


def test_hosts_from_their_first_day_to_their_last(ns: str, stead: Stead) -> None:
    hosts(stead, ns, "h1")
    name = f"{ns}-h1"
    rows = {row[0]: row for row in stead("host", "list").rows}
    assert rows["HOST"] == ["HOST", "LANE", "HEALTHY", "PROPERTIES"]
    assert rows[name] == [name, "rack.lab", "yes", "cpus=16,", f"of={ns}"]
    assert stead("host", "fail", name, "--reason", "no power").rows[1][2:5] == ["no:", "no", "power"]
    assert stead("host", "recover", name).rows[1][2] == "yes"
    changed = stead("host", "add", name, "--lane", "rack.lab", "--property", "gpu=true", "-o", "json")
    assert json.loads(changed.out)[0]["properties"] == {"gpu": True}
    gone = stead("host", "remove", name)
    assert (gone.code, gone.out) == (Code.DONE, f"{name} is removed\n")
    assert stead("host", "fail", name).code == Code.NOT_FOUND
    assert stead("host", "add", name, "--lane", "rack.lab", "--property", "cpus").code == Code.USAGE
    assert stead("host", "add", name, "--lane", "rack.lab", "--node", f"{ns}/none").code == Code.NOT_FOUND


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--from noon --to +2h", "'noon' is no time"),
        ("--from now --to 2030-01-31T12:00:00", "does not say the offset from UTC"),
        ("--from now --to +2x", "'+2x' is no time"),
        ("--from now", "needed here or in a file"),
        ("--to +2h", "needed here or in a file"),
        ("--from now --to +2h --with cpus", "say it as cpus>=16"),
        ("--from now --to +2h --with cpus>=1 --with cpus<=9", "cpus is said twice"),
        ("--from now --to +2h --before-end soon", "must be a time such as"),
        ("--from now --to 2020-01-01T00:00:00Z", "not after its start"),
    ],
)
def test_nonsense_is_told(ns: str, stead: Stead, words: str, says: str) -> None:
    answer = stead("lease", "create", f"{ns}/one", *words.split())
    assert answer.code == Code.USAGE
    assert says in " ".join(answer.err.split())


def test_a_lease_lies_in_a_namespace(ns: str, stead: Stead) -> None:
    assert "say it as namespace/name" in stead("lease", "show", ns).err


# Help


def examples() -> list[str]:
    nouns = getattr(typer.main.get_command(app), "commands", {})
    return [str(leaf.epilog) for noun in ("lease", "host") for leaf in nouns[noun].commands.values()]


@pytest.mark.parametrize("example", examples())
def test_the_example_in_the_help_works(cell: Cell, ns: str, stead: Stead, example: str) -> None:
    noun, verb, *rest = shlex.split(example.removeprefix("Example: stead "))
    words = [re.sub(r"^lab\b", ns, re.sub(r"^(h\d)$", rf"{ns}-\1", word)) for word in rest]
    for name in ("h1", "h2", "h3", *(("h9",) if verb == "remove" else ())):
        hosts(stead, ns, name)
    if noun == "lease" and verb not in ("create", "list"):
        book(stead, ns, "monday", start="now", end="+2h")
        cell.obey(ns)
        cell.struck()
    assert stead(noun, verb, *words).code == Code.DONE
