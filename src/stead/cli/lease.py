"""`stead lease`: hosts booked for a time, and who has them when."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from stead.cli.action_commands import add_verb
from stead.cli.calendar import picture
from stead.cli.durations import duration
from stead.cli.elapsed import span
from stead.cli.lease_options import FROM, TO, WITH, LeaseChange, terms_in, time_of
from stead.cli.list_show import there
from stead.cli.listing import Columns, printable, write
from stead.cli.output import Code, Format, ListFormat, coloured, data, fail, line, table
from stead.cli.paths import LeasePath, Under
from stead.cli.progress import DryRun, How, Key, Queueing, Wait, Why, change, on_conflict
from stead.cli.server_commands import Output, Server, Timeout, clock, plain, reach
from stead.cli.spec_options import File, merged
from stead.client import DEFAULT_SERVER, Lateness, Lease, NotFound, Operation, Reservation, SyncClient

KIND = "lease"
SHOWN = 4
"""Hosts that are named in a list; of more, only how many."""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Hosts booked for a time.")


def _hosts(lease: Lease) -> str:
    names = [host for part in lease.reservations for host in part.hosts]
    return ", ".join(names) if len(names) <= SHOWN else f"{', '.join(names[:SHOWN])}, {len(names) - SHOWN} more"


LEASES: Columns[Lease] = Columns(
    narrow=(
        ("PATH", lambda one: one.path),
        ("STATUS", lambda one: f"{one.status}, degraded" if one.degraded else one.status),
        ("FROM", lambda one: clock(one.start)),
        ("TO", lambda one: clock(one.end)),
        ("HOSTS", _hosts),
    ),
    wide=(
        ("TOLD", lambda one: clock(one.before_end)),
        ("OPERATION", lambda one: one.operation or ""),
        ("CHANGED", lambda one: clock(one.changed_at)),
        ("CREATED", lambda one: clock(one.created_at)),
    ),
    name=lambda one: one.path,
)
LATE: Columns[Lateness] = Columns(
    narrow=(
        ("CAME", lambda one: str(one.fired)),
        ("MEDIAN", lambda one: f"{one.median:.2f}s"),
        ("P99", lambda one: f"{one.p99:.2f}s"),
        ("WORST", lambda one: f"{one.maximum:.2f}s"),
    ),
    wide=(),
    name=lambda one: f"{one.maximum:.2f}",
    right=("CAME", "MEDIAN", "P99", "WORST"),
)

From = Annotated[
    str | None,
    typer.Option(
        FROM, metavar="TIME", help="When it begins: now, 2030-01-31T12:00:00Z, or +1h for an hour from now."
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        TO, metavar="TIME", help="When it ends: 2030-01-31T14:00:00Z, or +2h for two hours after its start."
    ),
]
HowMany = Annotated[int | None, typer.Option("--hosts", metavar="N", min=1, help="How many. Without it: 1.")]
With = Annotated[
    list[str] | None,
    typer.Option(WITH, metavar="WISH", help="What each has: 'cpus>=16', arch=x86_64. May be repeated."),
]
BeforeEnd = Annotated[
    str | None,
    typer.Option(
        "--before-end", metavar="TIME", callback=duration, help="How long before its end that is told; 0: never."
    ),
]
Webhook = Annotated[
    str | None,
    typer.Option("--webhook", metavar="URL", help="Where it is told, by a POST. The cell has to allow it."),
]


@app.command(
    short_help="Book hosts.",
    epilog="Example: stead lease create lab/monday --from now --to +2h --hosts 2 --with 'cpus>=16'",
)
def create(
    path: LeasePath,
    start: From = None,
    end: To = None,
    hosts: HowMany = None,
    wishes: With = None,
    file: File = None,
    before_end: BeforeEnd = None,
    webhook: Webhook = None,
    reason: Why = "",
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Book hosts from one time to another, all of them or none. The clock hands them over and takes them back.

    What is not free is not booked: the operation fails, and says when there are so many. Where hosts of several kinds
    are wanted, a file has `start`, `end` and `reservations`, each with `count` and `properties`.
    """
    said = LeaseChange(start, end, hosts, wishes, before_end, webhook)
    spec = terms_in(file)
    spec = merged(spec, said.fields(spec, datetime.now(UTC)))
    for field, option in (("start", FROM), ("end", TO)):
        if field not in spec:
            raise typer.BadParameter("say it here or in a file", param_hint=option)
    spec.setdefault("reservations", [{"count": 1}])
    change(server, path, "create", How(output, wait, timeout, dry_run, key), kind=KIND, spec=spec, reason=reason)


@app.command(short_help="Change a lease.", epilog="Example: stead lease update lab/monday --to +4h --hosts 3")
def update(
    path: LeasePath,
    start: From = None,
    end: To = None,
    hosts: HowMany = None,
    wishes: With = None,
    file: File = None,
    before_end: BeforeEnd = None,
    webhook: Webhook = None,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Change when a lease ends, when it begins, or its hosts. What is not said stays as it is.

    What cannot be had is not changed: the operation fails, says why, and the lease is as it was.
    """
    said = LeaseChange(start, end, hosts, wishes, before_end, webhook)
    spec = terms_in(file)
    wishes_: dict[str, Any] = {"reason": reason, "on_conflict": on_conflict(queue)}
    had: dict[str, Any] = {}
    if (said.lasts and start is None) or said.alike:
        with reach(server) as client:
            found = there(client, KIND, path)
        had = dict(found.spec)
        if not dry_run:
            wishes_["if_match"] = found.etag  # or somebody else's change would be lost
    spec = merged(spec, said.fields(merged(had, spec), datetime.now(UTC)))
    if not spec:
        raise typer.BadParameter("say what it is to become", param_hint=f"{FROM}, {TO}, --hosts, {WITH}, --file")
    change(server, path, "update", How(output, wait, timeout, dry_run, key), kind=KIND, spec=spec, **wishes_)


add_verb(app, KIND, LeasePath, "terminate", "End a lease now, and take its hosts back.", "lab/monday", verb="end")
add_verb(app, KIND, LeasePath, "delete", "Delete a lease, whatever goes on.", "lab/monday")


@app.command("list", short_help="Leases.", epilog="Example: stead lease list lab")
def list_(below: Under = "/", output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Leases, in order of path. A degraded one lacks a host, or has another than it had."""
    with reach(server) as client:
        write(_listed(client, below), LEASES, output)


def _listed(client: SyncClient, below: str) -> Iterator[Lease]:
    if below.count("/") == 2:
        with suppress(NotFound):
            yield client.lease(below)
    yield from client.leases(below=below)


@app.command(short_help="A lease, with its hosts and events.", epilog="Example: stead lease show lab/monday")
def show(path: LeasePath, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """A lease: its status, its hosts and what is not as it was booked, its events and how late they came, what was
    told of its end, and what goes on."""
    with reach(server) as client:
        found = client.lease(path)
        running = client.operation(found.operation) if found.operation is not None else None
    if output is ListFormat.NAME:
        line(found.path)
    elif output in (ListFormat.JSON, ListFormat.YAML):
        data(plain(found), output)
    else:
        _whole(found, running)


def _whole(found: Lease, running: Operation | None) -> None:
    """Everything there is to say, for a person."""
    fields = [
        ("path", found.path),
        ("status", found.status),
        ("reason", found.reason),
        ("degraded", "yes" if found.degraded else "no"),
        ("from", clock(found.start)),
        ("to", clock(found.end)),
        ("told", clock(found.before_end)),
        ("labels", ", ".join(f"{name}={value}" for name, value in found.labels.items())),
        ("created", clock(found.created_at)),
        ("changed", clock(found.changed_at)),
        ("operation", _running(running)),
    ]
    table(("FIELD", "VALUE"), [(name, printable(value)) for name, value in fields if value])
    _part(
        ("RESERVATION", "STATUS", "BOOKED", "HOSTS", "WITH", "FLAGS", "LANE"),
        [
            (part.name, part.status, str(part.count), ", ".join(part.hosts), _wishes(part), _flags(part), part.lane)
            for part in found.reservations
        ],
        right=("BOOKED",),
    )
    errors = any(one.error for one in found.events)
    _part(
        ("EVENT", "AT", "STATUS", "LATE", *(("ERROR",) if errors else ())),
        [
            (one.kind, clock(one.at), one.status, _late(one.delay), *((one.error,) if errors else ()))
            for one in found.events
        ],
        right=("LATE",),
    )
    _part(
        ("NOTICE", "AT", "TO", "TRIES", "ARRIVED", "ERROR"),
        [
            (one.event, clock(one.created_at), one.url, str(one.attempts), clock(one.delivered_at), one.error)
            for one in found.notices
        ],
        right=("TRIES",),
    )


def _part(columns: Sequence[str], rows: Sequence[tuple[str, ...]], right: Sequence[str]) -> None:
    if rows:
        line()
        table(columns, [[printable(cell) for cell in row] for row in rows], right=right)


def _running(operation: Operation | None) -> str:
    if operation is None:
        return ""
    says = f": {operation.message}" if operation.message else ""
    return f"{operation.action} by {operation.principal}, {operation.id}{says}"


def _late(seconds: float | None) -> str:
    """How long after its time something came; it may have been asked for before."""
    if seconds is None:
        return ""
    return f"{span(-seconds)} early" if seconds < 0 else span(seconds)


def _wishes(part: Reservation) -> str:
    return ", ".join(f"{name} {value}" for name, value in part.properties.items())


def _flags(part: Reservation) -> str:
    flags = {"missing_resources": part.missing_resources, "resources_changed": part.resources_changed}
    return ", ".join(name for name, flag in flags.items() if flag)


@app.command(short_help="Who has which host, and when.", epilog="Example: stead lease calendar --days 7")
def calendar(
    start: Annotated[
        str, typer.Option(FROM, metavar="TIME", help="From when: now, 2030-01-31T12:00:00Z, or +1h.")
    ] = "now",
    end: Annotated[
        str | None, typer.Option(TO, metavar="TIME", help="To when: 2030-02-01T12:00:00Z, or +2h after the start.")
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", metavar="N", min=1, max=366, help="So many days. Without it: 1.")
    ] = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="How the result is written.")] = Format.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """A picture: a line for each host, columns of time, a letter for each lease. Times are in UTC."""
    if end is not None and days is not None:
        fail(f"say {TO} or --days, not both", Code.USAGE)
    now = datetime.now(UTC)
    begins = now if start == "now" else time_of(start, FROM, now)
    ends = time_of(end, TO, begins) if end is not None else begins + timedelta(days=days or 1)
    with reach(server) as client:
        found = client.calendar(begins, ends)
    if output is not Format.TABLE:
        data(plain(found), output)
        return
    shown = picture(found, shutil.get_terminal_size((80, 24)).columns)
    line(shown.head)
    line(shown.axis)
    for row in shown.rows:
        coloured(row)
    if not shown.rows:
        line("there are no hosts; see: stead host add --help")
    if shown.legend:
        line()
        table(("", "LEASE", "STATUS", "FROM", "TO"), shown.legend)
    if shown.notes:
        line()
    for one in shown.notes:
        line(one)


@app.command(short_help="How late leases begin and end.", epilog="Example: stead lease lateness --hours 168")
def lateness(
    hours: Annotated[
        int, typer.Option("--hours", metavar="N", min=1, max=24 * 366, help="Of the last so many hours.")
    ] = 24,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """How many events of leases came in the last hours, and how long after their time."""
    with reach(server) as client:
        found = client.lateness(hours=hours)
    if output in (ListFormat.JSON, ListFormat.YAML):
        data(plain(found), output)
    else:
        write([found], LATE, output)
