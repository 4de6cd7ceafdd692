"""`stead mci`: infrastructures of VMs over several providers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from stead.catalog import infrastructure
from stead.cli.change import ChangeOptions, change
from stead.cli.columns import BY, CHANGED, CREATED, OPERATION, PATH, STATE
from stead.cli.command import command
from stead.cli.drift import compare
from stead.cli.group_status import bars, is_bare, observed, tree
from stead.cli.listing import Columns, counts
from stead.cli.noun import Noun
from stead.cli.output import Code, Format, ListFormat, data, line, note
from stead.cli.paths import MciPath
from stead.cli.server_commands import Output, Server, SingleOutput, Watch, plain, reach
from stead.cli.spec_options import read_text
from stead.client import DEFAULT_SERVER, GroupStatus, Resource, SyncClient
from stead.lifecycle.files.problems import DocumentError

Refresh = Annotated[bool, typer.Option("--refresh", help="Observe members first, where they may have changed.")]


class Partial(StrEnum):
    """What becomes of an infrastructure of which only some VMs could be created."""

    CONTINUE = "continue"
    ROLLBACK = "rollback"
    REFINE = "refine"


MCIS: Columns[Resource] = Columns(
    narrow=(PATH, STATE, ("VMS", lambda mci: counts(mci.members or {})), OPERATION),
    wide=(BY, CHANGED, CREATED),
)
MCI = Noun(
    "mci",
    MciPath,
    "an infrastructure",
    "infrastructures",
    "shop/web",
    columns=MCIS,
    show="its state, its operation, its spec, and how many VMs are in which state",
    verbs={
        "suspend": "Suspend every running VM.",
        "resume": "Resume every suspended VM.",
        "reboot": "Restart every running VM.",
        "terminate": "Remove every VM for good.",
        "refine": "Remove the VMs that failed or whose state is unknown.",
        "continue": "Continue a creation that is held.",
        "withdraw": "Roll back a creation that is held.",
        "delete": "Remove every VM for good, and the infrastructure.",
    },
)
app = MCI.app


@MCI.change("shop/web -f mci.yaml", extra=("expect_agent",))
def create(
    options: ChangeOptions,
    path: MciPath,
    file: Annotated[
        str, typer.Option("--file", "-f", help="The infrastructure, in YAML or JSON; - is stdin.", metavar="FILE")
    ],
    hold: Annotated[
        bool, typer.Option("--hold", help="Stop before VMs are created, until `continue` or `withdraw`.")
    ] = False,
    on_partial: Annotated[
        Partial,
        typer.Option(help="When only some VMs could be created: keep those, remove all, or remove failed ones."),
    ] = Partial.CONTINUE,
) -> None:
    """Create an infrastructure and its VMs.

    Resources that its VMs share (networks, security groups, keys) are created first, or found; all names in the file
    are checked against the providers before anything is created.
    """
    options = replace(options, wait=options.wait and not hold)
    change(options, path, "create", spec=read_file(file), hold=hold, on_partial=on_partial)


def read_file(file: str) -> dict[str, Any]:
    """The spec in an infrastructure file; ends the command where the file is invalid."""
    try:
        return infrastructure.parse(read_text(file), "stdin" if file == "-" else file)
    except DocumentError as error:
        for message in error.messages:
            note(f"error: {message}")
        raise typer.Exit(Code.USAGE) from None


@command(app, "stead mci status shop/web --watch")
def status(
    path: MciPath,
    watch: Watch = False,
    refresh: Refresh = False,
    output: SingleOutput = Format.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show the status of an infrastructure in one line.

    While an operation is in progress, each provider and region has a bar.
    """
    _show(path, server, output, watch, refresh, summary)


def summary(found: GroupStatus, failure: str = "") -> list[str]:
    """One line, a bar for each provider and region while an operation is in progress, and what a refresh observed."""
    line = tree(found, failure=failure)[0]
    return [line, *bars(found), *(observed(found.observed) if found.observed is not None else [])]


@command(app, "stead mci tree shop/web", "tree")
def tree_(
    path: MciPath,
    unfold: Annotated[bool, typer.Option("--all", help="Show subgroups alike one by one.")] = False,
    watch: Watch = False,
    refresh: Refresh = False,
    output: SingleOutput = Format.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show an infrastructure and its subgroups as a tree.

    Subgroups alike are folded into one line. The member in the worst state is named.
    """

    def lines(found: GroupStatus, why: str) -> list[str]:
        return [*tree(found, unfold=unfold, failure=why), *bars(found)]

    _show(path, server, output, watch, refresh, lines)


@command(app, "stead mci drift shop/web --all")
def drift(
    path: MciPath,
    all_: Annotated[bool, typer.Option("--all", help="List VMs without drift, too.")] = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Compare recorded states of an infrastructure's VMs with the observed.

    Providers are asked now. Nothing is changed.

    Exit code 0: no drift. 1: drift.
    """
    with reach(server) as client:
        client.status(path)  # a path that does not exist must not be taken for one without drift
    compare(server, path, output, everything=all_)


@command(app, "stead mci example > mci.yaml")
def example() -> None:
    """Print an example of an infrastructure file, for `stead dev`."""
    line(EXAMPLE.rstrip())


EXAMPLE = """
# Six VMs over three clouds. What they share (networks, security groups) is made first, or found.
defaults: {spec: small, image: ubuntu-22.04}
subgroups:
  - {name: front, provider: aws, region: us-east-1, size: 3}
  - {name: back, provider: azure, region: koreacentral, size: 2}
  - {name: cache, provider: gcp, region: asia-northeast3}
""".lstrip()


@command(app, "stead mci schema > mci.json")
def schema() -> None:
    """Print the JSON schema of infrastructure files."""
    line(json.dumps(infrastructure.schema(), indent=2))


def _show(
    path: str,
    server: str,
    output: Format,
    watch: bool,
    refresh: bool,
    written: Callable[[GroupStatus, str], list[str]],
) -> None:
    """Write a status, once or as it changes."""
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
"""Seconds between two readings while events are many."""
