"""`stead mci`: make infrastructures, see how they stand, change them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from stead.catalog import infrastructure
from stead.cli.action_commands import add_observing, add_verb
from stead.cli.columns import BY, CHANGED, CREATED, OPERATION, PATH, STATE
from stead.cli.group_status import bars, is_bare, observed, tree
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns, counts
from stead.cli.output import Code, Format, ListFormat, data, line
from stead.cli.paths import MciPath
from stead.cli.progress import (
    DryRun,
    ExpectAgent,
    How,
    Key,
    Wait,
    Why,
    change,
)
from stead.cli.server_commands import Output, Server, Timeout, Watch, plain, reach
from stead.cli.spec_options import read_text
from stead.cli.truth import compare
from stead.client import DEFAULT_SERVER, GroupStatus, Resource, SyncClient
from stead.lifecycle.files.problems import DocumentError

KIND = "mci"

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Infrastructures of VMs over many clouds.")


Refresh = Annotated[bool, typer.Option("--refresh", help="Look first at what may have changed by itself.")]
One = Annotated[Format, typer.Option("--output", "-o", help="How the result is written.")]


class Partial(StrEnum):
    """What to do when only some VMs came up."""

    CONTINUE = "continue"
    ROLLBACK = "rollback"
    REFINE = "refine"


MCIS: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        ("VMS", lambda mci: counts(mci.members or {})),
        OPERATION,
    ),
    wide=(BY, CHANGED, CREATED),
    name=lambda mci: mci.path,
)


@app.command(short_help="Make an infrastructure.", epilog="Example: stead mci create shop/web -f mci.yaml")
def create(
    path: MciPath,
    file: Annotated[
        str, typer.Option("--file", "-f", help="What it is to be, in YAML or JSON; - is stdin.", metavar="FILE")
    ],
    hold: Annotated[
        bool, typer.Option("--hold", help="Stop when all is prepared, and wait for continue or withdraw.")
    ] = False,
    on_partial: Annotated[
        Partial,
        typer.Option(help="When only some VMs came up: keep what runs, take all back, take out who failed."),
    ] = Partial.CONTINUE,
    reason: Why = "",
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    expect_agent: ExpectAgent = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Make an infrastructure, and follow it until its VMs run.

    What its VMs share (networks, security groups, keys) is made first, or found; what the file names is checked
    against what the providers have before anything is made.
    """
    spec = read_file(file)
    how = How(output, wait and not hold, timeout, dry_run, key, expect_agent)
    wishes: dict[str, Any] = {"kind": KIND, "spec": spec, "hold": hold, "on_partial": on_partial, "reason": reason}
    change(server, path, "create", how, **wishes)


def read_file(file: str) -> dict[str, Any]:
    """What an infrastructure file says; ends the command where it makes no sense."""
    try:
        return infrastructure.parse(read_text(file), "stdin" if file == "-" else file)
    except DocumentError as error:
        for message in error.messages:
            typer.echo(f"error: {message}", err=True)
        raise typer.Exit(Code.USAGE) from None


for _action, _says in (
    ("suspend", "Stop every running VM and keep it."),
    ("resume", "Start every stopped VM."),
    ("reboot", "Restart every running VM."),
    ("terminate", "Remove every VM for good."),
    ("refine", "Take out the VMs that failed, or that nobody can tell anything about."),
    ("continue", "Go on with a creation that is held."),
    ("withdraw", "Give up a creation that is held, and take back what it made."),
    ("delete", "Remove every VM for good, and forget the infrastructure."),
):
    add_verb(app, KIND, MciPath, _action, _says, "shop/web")


add_observing(app, KIND, MciPath, "shop/web")


add_list(app, KIND, MCIS, "Infrastructures", "stead mci list shop -o wide")
add_show(
    app,
    KIND,
    MciPath,
    "An infrastructure, as it is or as it was.",
    "An infrastructure: its state, what is going on, its spec, and how many VMs are in which state.",
    "stead mci show shop/web -o yaml",
)


@app.command(short_help="How an infrastructure stands.", epilog="Example: stead mci status shop/web --watch")
def status(
    path: MciPath,
    watch: Watch = False,
    refresh: Refresh = False,
    output: One = Format.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """How an infrastructure stands: one line, and a bar for each provider and region while something goes on."""
    _show(path, server, output, watch, refresh, summary)


def summary(found: GroupStatus, failure: str = "") -> list[str]:
    """One line, a bar for each provider and region while something goes on, and what a refresh has observed."""
    line = tree(found, failure=failure)[0]
    return [line, *bars(found), *(observed(found.observed) if found.observed is not None else [])]


@app.command("tree", short_help="An infrastructure and its subgroups.", epilog="Example: stead mci tree shop/web")
def tree_(
    path: MciPath,
    unfold: Annotated[bool, typer.Option("--all", help="Also those that are alike, one by one.")] = False,
    watch: Watch = False,
    refresh: Refresh = False,
    output: One = Format.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """An infrastructure and its subgroups. What is alike is folded, and the member that is worst off named."""

    def lines(found: GroupStatus, why: str) -> list[str]:
        return [*tree(found, unfold=unfold, failure=why), *bars(found)]

    _show(path, server, output, watch, refresh, lines)


@app.command(short_help="Belief beside what is there.", epilog="Example: stead mci diff shop/web --all")
def diff(
    path: MciPath,
    all_: Annotated[bool, typer.Option("--all", help="Also those that do not differ.")] = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """What is believed of an infrastructure's VMs beside what their providers show now. Nothing is changed.

    Exit code 0: nothing differs. 1: something does.
    """
    with reach(server) as client:
        client.status(path)  # so that a name that is not there is not taken for one where all is well
    compare(server, path, output, everything=all_)


@app.command(short_help="An infrastructure file to begin with.", epilog="Example: stead mci example > mci.yaml")
def example() -> None:
    """A small infrastructure over three clouds, which `stead dev` has."""
    line(EXAMPLE.rstrip())


EXAMPLE = """
# Six VMs over three clouds. What they share (networks, security groups) is made first, or found.
defaults: {spec: small, image: ubuntu-22.04}
subgroups:
  - {name: front, provider: aws, region: us-east-1, size: 3}
  - {name: back, provider: azure, region: koreacentral, size: 2}
  - {name: cache, provider: gcp, region: asia-northeast3}
""".lstrip()


@app.command(short_help="The JSON schema of infrastructure files.", epilog="Example: stead mci schema > mci.json")
def schema() -> None:
    """The JSON schema of infrastructure files, for editors and other programs."""
    line(json.dumps(infrastructure.schema(), indent=2))


def _show(
    path: str,
    server: str,
    output: Format,
    watch: bool,
    refresh: bool,
    written: Callable[[GroupStatus, str], list[str]],
) -> None:
    """How it stands, once or as it changes."""
    with reach(server) as client:

        def lines(found: GroupStatus) -> list[str]:
            return written(found, client.resource(found.resource.path).failure if is_bare(found) else "")

        place = client.journal_page(limit=1).end
        found = client.status(path, refresh=refresh)
        if output is not Format.TABLE:
            data(plain(found), output)
        elif not watch:
            for text in lines(found):
                line(text)
        else:
            _watch(client, path, place, found, lines)


def _watch(
    client: SyncClient, path: str, place: int, found: GroupStatus, lines: Callable[[GroupStatus], list[str]]
) -> None:
    """Show the lines in place where the terminal can move its cursor; elsewhere write them whenever they differ."""
    console = Console(highlight=False)
    changes = _changes(client, path, place, lines(found), lines)
    if console.is_terminal and not console.is_dumb_terminal:
        with Live(console=console, auto_refresh=False) as live:
            for shown in changes:
                live.update(Text("\n".join(shown)), refresh=True)
    for shown in changes:
        for text in shown:
            line(text)


def _changes(
    client: SyncClient, path: str, place: int, shown: list[str], lines: Callable[[GroupStatus], list[str]]
) -> Iterator[list[str]]:
    """The lines as they are, and then each time they differ."""
    yield shown
    last = time.monotonic()
    for event in client.events(after=place, path=path):
        if event.position <= place:
            continue  # what was read last had it in it
        time.sleep(max(0.0, PAUSE - (time.monotonic() - last)))
        place = client.journal_page(limit=1).end  # before it is read, so that no change falls in between
        now = lines(client.status(path))
        last = time.monotonic()
        if now != shown:
            shown = now
            yield shown


PAUSE = 0.2
"""Seconds between two looks while much happens."""
