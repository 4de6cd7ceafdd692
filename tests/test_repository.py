"""The repository as a whole: it names no place it was made in, and its files stay small."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-bench.lock", "requirements-docs.lock"]
OTHER_LOCKS = ["requirements-libvirt.lock", "requirements-uv.lock", "tests/heavy/openstack/requirements.lock"]

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


ASSEMBLED = ("Controller", "RequestFrontend", "Application")


def assembled(source: str) -> list[str]:
    """What a module of Python makes of Stead's own classes that only the composition root puts together."""
    tree = ast.parse(source)
    ours = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stead.")
        for alias in node.names
        if alias.name in ASSEMBLED
    }
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [ours[name.id] for name in calls if isinstance(name, ast.Name) and name.id in ours]


def test_the_composition_root_alone_assembles_controllers_and_applications() -> None:
    root = ROOT / "src/stead/build.py"
    assert {*assembled(root.read_text())} == {*ASSEMBLED}
    others = [path for path in files() if path.suffix == ".py" and path != root]
    assert {path.relative_to(ROOT): found for path in others if (found := assembled(path.read_text()))} == {}


@pytest.mark.parametrize("name", [*LOCKS, *OTHER_LOCKS])
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
    generated = ROOT / "src/stead/client/models.py"
    sources = [path for path in (ROOT / "src").rglob("*.py") if path != generated]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources}
    assert {name: length for name, length in lengths.items() if length >= 450} == {}


LONGEST_SLEEP = 0.2
"""Seconds; a longer fixed sleep says why on its line, behind `# sleep:`."""


@cache
def calls(source: str) -> list[ast.Call]:
    """The calls in a file; kept, since several rules look at them."""
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]


def fixed_sleeps(source: str) -> list[int]:
    """The lines that sleep for a fixed time that is too long, and do not say why."""
    lines = source.splitlines()
    found = []
    for node in calls(source):
        if not (node.args and isinstance(node.args[0], ast.Constant)):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        scale = {"sleep": 1.0, "wait_for_timeout": 0.001}.get(name)
        seconds = node.args[0].value
        if scale is None or not isinstance(seconds, int | float) or seconds * scale <= LONGEST_SLEEP:
            continue
        if not re.search(r"# sleep: \w", lines[node.lineno - 1]):
            found.append(node.lineno)
    return found


SHORTEST_DEADLINE = 60
"""Seconds; a deadline in a test is there to end a hang. A shorter one says why on its line, behind `# deadline:`."""


def short_deadlines(source: str) -> list[int]:
    """The lines with a deadline that a busy machine may miss, and that do not say why."""
    lines = source.splitlines()
    found = []
    for node in calls(source):
        given = _deadline(node)
        seconds = given.value if isinstance(given, ast.Constant) else None
        if not isinstance(seconds, int | float) or seconds >= SHORTEST_DEADLINE:
            continue
        if not re.search(r"# deadline: \w", lines[(node.end_lineno or node.lineno) - 1]):
            found.append(node.lineno)
    return found


def _deadline(call: ast.Call) -> ast.expr | None:
    """How long a call waits, of calls that end with an error after that."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    owner = getattr(call.func.value, "id", "") if isinstance(call.func, ast.Attribute) else ""
    if (owner, name) == ("asyncio", "timeout"):
        return call.args[0]
    if (owner, name) == ("asyncio", "wait_for"):
        return call.args[1]
    if (owner, name) == ("subprocess", "run") or name in ("communicate", "Client", "AsyncClient"):
        return next((keyword.value for keyword in call.keywords if keyword.arg == "timeout"), None)
    return None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("asyncio.timeout(10)", True),
        ("asyncio.wait_for(done(), 5)", True),
        ("subprocess.run(['true'], timeout=5)", True),
        ("child.communicate(timeout=5)", True),
        ("httpx.Client(timeout=5)", True),
        ("asyncio.timeout(60)", False),
        ("asyncio.timeout(PATIENCE)", False),
        ("subprocess.run(['true'])", False),
        ("lane.fetch(timeout=0.1)", False),
        ("asyncio.timeout(1)  # deadline: it is meant to be reached", False),
    ],
)
def test_short_deadline_is_found_unless_it_says_why(line: str, found: bool) -> None:
    assert bool(short_deadlines(line)) is found


def test_tests_neither_sleep_for_a_fixed_time_nor_give_a_busy_machine_too_little() -> None:
    sources = {path.relative_to(ROOT): path.read_text() for path in (ROOT / "tests").rglob("*.py")}
    worth = {path: source for path, source in sources.items() if re.search(r"sleep|timeout|wait_for", source)}
    rules = (fixed_sleeps, short_deadlines)
    assert [f"{path}:{line}" for path in sorted(worth) for rule in rules for line in rule(worth[path])] == []


def single_flushes(source: str) -> list[int]:
    """The lines that wait for a NATS server with the library's own flush, which overtakes subscriptions."""
    awaited = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Await))
    return [
        node.lineno
        for node in awaited
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "flush"
    ]


def test_tests_flush_subscriptions_by_the_helper_that_waits_for_them() -> None:
    sources = {path.relative_to(ROOT): path.read_text() for path in (ROOT / "tests").rglob("*.py")}
    allowed = Path("tests/subscribing.py")
    worth = {path: source for path, source in sources.items() if "flush()" in source and path != allowed}
    assert [f"{path}:{line}" for path in sorted(worth) for line in single_flushes(worth[path])] == []


@pytest.mark.parametrize(("line", "found"), [("await client.flush()", True), ("file.flush()", False)])
def test_single_flush_is_found(line: str, found: bool) -> None:
    assert bool(single_flushes(f"async def f():\n    {line}")) is found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("time.sleep(1)", True),
        ("await asyncio.sleep(0.3)", True),
        ("page.wait_for_timeout(300)", True),
        ("time.sleep(0.2)", False),
        ("time.sleep(pause)", False),
        ("time.sleep(1)  # sleep: the clock of the file system has whole seconds", False),
        ("time.sleep(1)  # sleep:", True),
    ],
)
def test_fixed_sleep_is_found_unless_it_says_why(line: str, found: bool) -> None:
    assert bool(fixed_sleeps(line)) is found
