"""Commands that list the resources of a kind, once or as they change, and show one, now or at a past time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from stead.cli.columns import FAILURE
from stead.cli.command import command
from stead.cli.elapsed import told
from stead.cli.listing import Columns, printable, write, write_one
from stead.cli.output import Code, ListFormat, data, fail, line, table
from stead.cli.paths import Under
from stead.cli.server_commands import Output, Server, Watch, plain, reach
from stead.client import DEFAULT_SERVER, HistoricalResource, NotFound, Resource, SyncClient

At = Annotated[
    datetime | None,
    typer.Option(
        help="Past time to show, in UTC.",
        formats=["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%S"],
    ),
]


def add_list(app: typer.Typer, kind: str, columns: Columns[Resource], plural: str, example: str) -> None:
    """Have a command that lists the resources of a kind."""

    def list_(
        below: Under = "/",
        watch: Watch = False,
        output: Output = ListFormat.TABLE,
        server: Server = DEFAULT_SERVER,
    ) -> None:
        with reach(server) as client:
            show_list(client, kind, below, columns, output, watch=watch)

    list_.__doc__ = f"List {plural} by path."
    command(app, example)(list_)


def show_list(
    client: SyncClient, kind: str, below: str, columns: Columns[Resource], output: ListFormat, *, watch: bool
) -> None:
    """Write the resources of a kind; with `watch`, also each change of one."""
    columns = replace(columns, wide=(*columns.wide, FAILURE))
    place = client.journal_page(limit=1).end  # before the list is read, so that no change falls in between
    widths = write(listed(client, kind, below), columns, output, endless=watch)
    for event in client.events(after=place, path=below) if watch else ():
        if event.kind == kind and not event.rejections:
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
    """The resources of a kind at a path and below it."""
    if below != "/":
        with suppress(NotFound):
            found = client.resource(below)
            if found.kind == kind:
                yield found
    yield from client.resources(kind=kind, below=below, specs=True)


def add_show(app: typer.Typer, kind: str, path_type: Any, singular: str, content: str, example: str) -> None:
    """Have a command that shows one resource of a kind."""

    def show(
        path: str,
        at: At = None,
        output: Output = ListFormat.TABLE,
        server: Server = DEFAULT_SERVER,
    ) -> None:
        with reach(server) as client:
            show_whole(find_at(client, kind, path, at), output)

    show.__doc__ = f"Show {singular}, now or at a past time.\n\nIt shows {content}."
    show.__annotations__["path"] = path_type
    command(app, example)(show)


def find(client: SyncClient, kind: str, path: str) -> Resource:
    """A resource of a kind; ends the command where the path has one of another kind."""
    return _of(kind, client.resource(path))


def find_at(client: SyncClient, kind: str, path: str, at: datetime | None) -> Resource | HistoricalResource:
    """The same or, with a time, as it was then."""
    return find(client, kind, path) if at is None else _of(kind, client.past(path, at.replace(tzinfo=UTC)))


def find_any(client: SyncClient, path: str, at: datetime | None) -> Resource | HistoricalResource:
    """The resource of any kind at a path or, with a time, the one that was there then."""
    return client.resource(path) if at is None else client.past(path, at.replace(tzinfo=UTC))


def _of[T: (Resource, HistoricalResource)](kind: str, found: T) -> T:
    if found.kind != kind:
        fail(f"{found.path} is a {found.kind}", Code.NOT_FOUND)
    return found


def show_whole(
    found: Resource | HistoricalResource, output: ListFormat, more: Mapping[str, Any] | None = None
) -> None:
    """Write every field of a resource, and fields that are known beside it."""
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
    """A row for each field; a nested one as JSON."""
    rows = []
    running = [found.operation, found.hidden] if isinstance(found, Resource) else []
    elapsed = [("elapsed", told(op.elapsed)) for op in running if op is not None and op.elapsed is not None]
    for name, value in plain(found).items():
        if value not in (None, {}, ""):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            rows.append((name, printable(text)))
    return rows + elapsed
