"""`stead policy`: Cedar policies, which allow and forbid beyond roles, and tests of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from stead.access.policies import InvalidPolicy, Policies
from stead.access.policy_tests import InvalidCase, tried
from stead.catalog import KINDS
from stead.cli.command import command, group
from stead.cli.documents import NotYaml, read_yaml
from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, fail, line, note
from stead.cli.server_commands import Output, Server, clock, reach
from stead.cli.spec_options import read_text
from stead.client import DEFAULT_SERVER
from stead.client.models import Policy

app = group()

POLICIES: Columns[Policy] = Columns(
    narrow=(
        ("NAME", lambda policy: policy.name),
        ("BY", lambda policy: policy.changed_by),
        ("SINCE", lambda policy: clock(policy.changed_at)),
    ),
    wide=(("LINES", lambda policy: str(len(policy.text.splitlines()))),),
    name=lambda policy: policy.name,
    right=("LINES",),
)
Name = Annotated[str, typer.Argument(help="Name of the policy.")]
File = Annotated[str, typer.Option("--file", "-f", help="Policy in Cedar; - is stdin.")]


def actions() -> list[str]:
    """Actions that policies can name: those of all built-in lifecycles."""
    return sorted({action.name for kind in KINDS.values() for action in kind.actions})


@command(app, "stead policy list")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List policies."""
    with reach(server) as client:
        write(client.policies().items, POLICIES, output)


@command(app, "stead policy show freeze")
def show(name: Name, server: Server = DEFAULT_SERVER) -> None:
    """Print the text of a policy."""
    with reach(server) as client:
        found = [each for each in client.policies().items if each.name == name]
    if not found:
        fail(f"policy {name} does not exist; see: stead policy list", Code.NOT_FOUND)
    line(found[0].text.rstrip())


@command(app, "stead policy put freeze -f freeze.cedar")
def put(name: Name, file: File, server: Server = DEFAULT_SERVER) -> None:
    """Create or replace a policy.

    Every server applies it within a second. A policy that is not valid Cedar, or names an unknown action or
    attribute, is rejected.
    """
    text = read_text(file)
    with reach(server) as client:
        client.put_policy(name, text)
    line(f"{name} is in force")


@command(app, "stead policy delete freeze")
def delete(name: Name, server: Server = DEFAULT_SERVER) -> None:
    """Delete a policy."""
    with reach(server) as client:
        client.remove_policy(name)
    line(f"{name} is no longer in force")


@command(app, "stead policy test policies.yaml")
def test(
    file: Annotated[Path, typer.Argument(help="YAML file with `policies` (Cedar files beside it) and `cases`.")],
) -> None:
    """Test policies, together with roles and without a server.

    Exit code 0: every case is allowed or rejected as expected. 3: some are not. 2: the file or a policy is invalid.
    """
    said = _read(file)
    try:
        own = {name: (file.parent / name).read_text(encoding="utf-8") for name in said.get("policies", [])}
        policies = Policies({Path(name).stem: text for name, text in own.items()}, actions())
        results = list(tried(policies, said.get("cases", [])))
    except (InvalidPolicy, InvalidCase, OSError) as error:
        fail(str(error), Code.USAGE)
    for result in results:
        word = "ok   " if result.right else "WRONG"
        line(f"{word} {result.what}: {result.found} ({result.says})")
        if not result.right:
            line(f"      expected: {result.expected}")
    wrong = sum(not result.right for result in results)
    note(f"{len(results)} cases, {wrong} wrong")
    if wrong:
        raise typer.Exit(Code.REJECTED)


def _read(file: Path) -> dict[str, Any]:
    try:
        said = read_yaml(read_text(str(file)))
    except NotYaml as error:
        fail(f"{file}: {error}", Code.USAGE)
    if not isinstance(said, dict) or not isinstance(said.get("cases"), list) or not said["cases"]:
        fail(f"{file}: `cases` is missing or empty", Code.USAGE)
    named = said.get("policies", [])
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        fail(f"{file}: `policies` must be names of files", Code.USAGE)
    return said
