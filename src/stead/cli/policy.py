"""`stead policy`: what callers may do beyond their roles, in Cedar; and policies tried out before they count."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from stead.access.policies import InvalidPolicy, Policies
from stead.access.policy_tests import InvalidCase, tried
from stead.catalog import KINDS
from stead.cli.documents import NotYaml, read_yaml
from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, fail, line, note
from stead.cli.server_commands import Output, Server, clock, reach
from stead.cli.spec_options import read_text
from stead.client import DEFAULT_SERVER
from stead.client.models import Policy

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What callers may do beyond their roles.")

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
Name = Annotated[str, typer.Argument(help="The name of the policy.")]
File = Annotated[str, typer.Option("--file", "-f", help="A file in Cedar; - for stdin.")]


def actions() -> list[str]:
    """What policies can speak of: the actions of all lifecycles that come with Stead."""
    return sorted({action.name for kind in KINDS.values() for action in kind.actions})


@app.callback()
def policy() -> None:
    """What callers may do beyond their roles."""


@app.command("list", short_help="Policies.", epilog="Example: stead policy list")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """The policies that are in force beside the roles."""
    with reach(server) as client:
        write(client.policies().items, POLICIES, output)


@app.command(short_help="A policy, as it is written.", epilog="Example: stead policy show freeze")
def show(name: Name, server: Server = DEFAULT_SERVER) -> None:
    """The text of a policy."""
    with reach(server) as client:
        found = [each for each in client.policies().items if each.name == name]
    if not found:
        fail(f"there is no policy {name}", Code.NOT_FOUND)
    line(found[0].text.rstrip())


@app.command(short_help="Put a policy in force.", epilog="Example: stead policy put freeze -f freeze.cedar")
def put(name: Name, file: File, server: Server = DEFAULT_SERVER) -> None:
    """Put a policy in force, in the place of the one of that name. It counts at every server within a second.

    It is checked first: what is not Cedar, or speaks of an action or an attribute that there is not, is refused.
    """
    text = read_text(file)
    with reach(server) as client:
        client.put_policy(name, text)
    line(f"{name} is in force")


@app.command(short_help="Take a policy away.", epilog="Example: stead policy delete freeze")
def delete(name: Name, server: Server = DEFAULT_SERVER) -> None:
    """Take a policy away."""
    with reach(server) as client:
        client.remove_policy(name)
    line(f"{name} is no longer in force")


@app.command(short_help="Try policies out.", epilog="Example: stead policy test policies.yaml")
def test(
    file: Annotated[Path, typer.Argument(help="A YAML file with `policies` (files in Cedar beside it) and `cases`.")],
) -> None:
    """Try policies out, with the roles beside them and without a server: is each case allowed or refused as expected?

    Exit code 0: all are. 3: some are not. 2: the file or a policy makes no sense.
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
        raise typer.Exit(Code.REFUSED)


def _read(file: Path) -> dict[str, Any]:
    try:
        said = read_yaml(read_text(str(file)))
    except NotYaml as error:
        fail(f"{file}: {error}", Code.USAGE)
    if not isinstance(said, dict) or not isinstance(said.get("cases"), list) or not said["cases"]:
        fail(f"{file}: it has no cases", Code.USAGE)
    named = said.get("policies", [])
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        fail(f"{file}: policies are the names of files", Code.USAGE)
    return said
