"""Commands that look at the resources of one kind: all of them, as they change, or one, as it is or as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from stead.cli.columns import FAILURE
from stead.cli.elapsed import told
from stead.cli.listing import Columns, printable, write, write_one
from stead.cli.output import Code, ListFormat, data, fail, line, table
from stead.cli.paths import Under
from stead.cli.server_commands import Output, Server, Watch, plain, reach
from stead.client import DEFAULT_SERVER, HistoricalResource, NotFound, Resource, SyncClient

At = Annotated[
    datetime | None,
    typer.Option(
        help="As it was at this time (UTC).",
        formats=["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%S"],
    ),
]


def add_list(app: typer.Typer, kind: str, columns: Columns[Resource], says: str, example: str) -> None:
    """Have a command that lists what there is of a kind."""

    def list_(
        below: Under = "/",
        watch: Watch = False,
        output: Output = ListFormat.TABLE,
        server: Server = DEFAULT_SERVER,
    ) -> None:
        with reach(server) as client:
            shown_list(client, kind, below, columns, output, watch=watch)

    list_.__doc__ = f"{says}, in order of path."
    app.command("list", short_help=f"{says}.", epilog=f"Example: {example}")(list_)


def shown_list(
    client: SyncClient, kind: str, below: str, columns: Columns[Resource], output: ListFormat, *, watch: bool
) -> None:
    """Write what there is of a kind; with `watch`, also what becomes of it."""
    columns = replace(columns, wide=(*columns.wide, FAILURE))
    place = client.journal_page(limit=1).end  # before the list is read, so that no change falls in between
    widths = write(listed(client, kind, below), columns, output, endless=watch)
    for event in client.events(after=place, path=below) if watch else ():
        if event.kind == kind and not event.refused:
            try:
                now = client.resource(event.path)
            except NotFound:
                now = Resource(
                    path=event.path,
                    kind=kind,
                    state=event.target,
                    state_class="absent",
                    etag="",
                    lane="",
                    spec={},
                    facts={},
                    timers={},
                )
            write_one(now, columns, output, widths)


def listed(client: SyncClient, kind: str, below: str) -> Iterator[Resource]:
    """What there is of a kind at a path and below it."""
    if below != "/":
        with suppress(NotFound):
            found = client.resource(below)
            if found.kind == kind:
                yield found
    yield from client.resources(kind=kind, below=below, specs=True)


def add_show(app: typer.Typer, kind: str, path_type: Any, short: str, says: str, example: str) -> None:
    """Have a command that shows all there is to say of one."""

    def show(
        path: str,
        at: At = None,
        output: Output = ListFormat.TABLE,
        server: Server = DEFAULT_SERVER,
    ) -> None:
        with reach(server) as client:
            whole(one(client, kind, path, at), output)

    show.__doc__ = says
    show.__annotations__["path"] = path_type
    app.command("show", short_help=short, epilog=f"Example: {example}")(show)


def there(client: SyncClient, kind: str, path: str) -> Resource:
    """One of a kind; ends the command where there is something else."""
    return _of(kind, client.resource(path))


def one(client: SyncClient, kind: str, path: str, at: datetime | None) -> Resource | HistoricalResource:
    """The same or, with a time, as it was then."""
    return there(client, kind, path) if at is None else _of(kind, client.past(path, at.replace(tzinfo=UTC)))


def any_one(client: SyncClient, path: str, at: datetime | None) -> Resource | HistoricalResource:
    """Whatever is at a path or, with a time, was there then."""
    return client.resource(path) if at is None else client.past(path, at.replace(tzinfo=UTC))


def _of[T: (Resource, HistoricalResource)](kind: str, found: T) -> T:
    if found.kind != kind:
        fail(f"{found.path} is a {found.kind}", Code.NOT_FOUND)
    return found


def whole(found: Resource | HistoricalResource, output: ListFormat, more: Mapping[str, Any] | None = None) -> None:
    """Write all there is to say of it, and what is said beside."""
    match output:
        case ListFormat.NAME:
            line(found.path)
        case ListFormat.JSON | ListFormat.YAML:
            data({**plain(found), **(more or {})}, output)
        case _:
            beside = [
                (name, str(len(value) if isinstance(value, list) else value)) for name, value in (more or {}).items()
            ]
            table(("FIELD", "VALUE"), [*_fields(found), *beside])


def _fields(found: Resource | HistoricalResource) -> list[tuple[str, str]]:
    """Everything there is to say, a row each; what lies deeper as JSON."""
    rows = []
    running = [found.operation, found.hidden] if isinstance(found, Resource) else []
    elapsed = [("elapsed", told(op.elapsed)) for op in running if op is not None and op.elapsed is not None]
    for name, value in plain(found).items():
        if value not in (None, {}, ""):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            rows.append((name, printable(text)))
    return rows + elapsed
