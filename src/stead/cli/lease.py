"""`stead lease`: hosts booked for a time, and who has them when."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from stead.cli.calendar import picture
from stead.cli.change import ChangeOptions, change
from stead.cli.command import command
from stead.cli.durations import duration
from stead.cli.elapsed import span
from stead.cli.lease_options import FROM, TO, WITH, LeaseChange, terms_in, time_of
from stead.cli.list_show import find
from stead.cli.listing import Columns, printable, write
from stead.cli.noun import Noun, Verb
from stead.cli.output import Code, Format, ListFormat, coloured, data, fail, line, table
from stead.cli.paths import LeasePath, Under
from stead.cli.server_commands import Output, Server, SingleOutput, clock, plain, reach
from stead.cli.spec_options import File, merged
from stead.client import DEFAULT_SERVER, Lateness, Lease, NotFound, Operation, Reservation, SyncClient

SHOWN = 4
"""Hosts that a list names; of more, only how many."""


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
        ("NOTIFY AT", lambda one: clock(one.before_end)),
        ("OPERATION", lambda one: one.operation or ""),
        ("CHANGED", lambda one: clock(one.changed_at)),
        ("CREATED", lambda one: clock(one.created_at)),
    ),
)
LATE: Columns[Lateness] = Columns(
    narrow=(
        ("EVENTS", lambda one: str(one.fired)),
        ("MEDIAN", lambda one: f"{one.median:.2f}s"),
        ("P99", lambda one: f"{one.p99:.2f}s"),
        ("MAX", lambda one: f"{one.maximum:.2f}s"),
    ),
    name=lambda one: f"{one.maximum:.2f}",
    right=("EVENTS", "MEDIAN", "P99", "MAX"),
)

LEASE = Noun(
    "lease",
    LeasePath,
    "a lease",
    "leases",
    "lab/monday",
    observed=False,
    verbs={
        "end": Verb("End a lease now and release its hosts.", action="terminate"),
        "delete": "Delete a lease in any state.",
    },
)
app = LEASE.app

From = Annotated[
    str | None, typer.Option(FROM, metavar="TIME", help="Start: now, 2030-01-31T12:00:00Z, or +1h (from now).")
]
To = Annotated[
    str | None, typer.Option(TO, metavar="TIME", help="End: 2030-01-31T14:00:00Z, or +2h (after the start).")
]
HostCount = Annotated[int | None, typer.Option("--hosts", metavar="N", min=1, help="Number of hosts; default 1.")]
With = Annotated[
    list[str] | None,
    typer.Option(WITH, metavar="CONDITION", help="Property of each host: 'cpus>=16', arch=x86_64. Repeatable."),
]
BeforeEnd = Annotated[
    str | None,
    typer.Option(
        "--before-end",
        metavar="TIME",
        callback=duration,
        help="Notify this long before the lease ends; 0 disables.",
    ),
]
Webhook = Annotated[
    str | None,
    typer.Option("--webhook", metavar="URL", help="URL for notices, by POST; the cell has to allow its prefix."),
]


@LEASE.change("lab/monday --from now --to +2h --hosts 2 --with 'cpus>=16'")
def create(
    options: ChangeOptions,
    path: LeasePath,
    start: From = None,
    end: To = None,
    hosts: HostCount = None,
    conditions: With = None,
    file: File = None,
    before_end: BeforeEnd = None,
    webhook: Webhook = None,
) -> None:
    """Create a lease: book hosts from one time to another, all or none.

    Stead hands the hosts over at the start and takes them back at the end. Where too few are free, the operation
    fails and says when enough are. For hosts of several kinds, a file has `start`, `end` and `reservations`, each
    with `count` and `properties`.
    """
    given = LeaseChange(start, end, hosts, conditions, before_end, webhook)
    spec = terms_in(file)
    spec = merged(spec, given.fields(spec, datetime.now(UTC)))
    for field, option in (("start", FROM), ("end", TO)):
        if field not in spec:
            raise typer.BadParameter("needed here or in a file", param_hint=option)
    spec.setdefault("reservations", [{"count": 1}])
    change(options, path, "create", spec=spec)


@LEASE.change("lab/monday --to +4h --hosts 3", extra=("queue",))
def update(
    options: ChangeOptions,
    path: LeasePath,
    start: From = None,
    end: To = None,
    hosts: HostCount = None,
    conditions: With = None,
    file: File = None,
    before_end: BeforeEnd = None,
    webhook: Webhook = None,
) -> None:
    """Update the start, end or hosts of a lease; other fields stay.

    Where that is not possible, the operation fails, says why, and the lease stays as it was.
    """
    given = LeaseChange(start, end, hosts, conditions, before_end, webhook)
    spec, had, match = terms_in(file), {}, {}
    if (given.lasts and start is None) or given.alike:
        with reach(options.server) as client:
            found = find(client, LEASE.kind, path)
        had = dict(found.spec)
        match = {"if_match": found.etag}  # or an update that came in between would be lost
    spec = merged(spec, given.fields(merged(had, spec), datetime.now(UTC)))
    if not spec:
        raise typer.BadParameter("an update needs one of them", param_hint=f"{FROM}, {TO}, --hosts, {WITH}, --file")
    change(options, path, "update", spec=spec, **match)


@command(app, "stead lease list lab")
def list_(below: Under = "/", output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List leases by path.

    A degraded lease lacks a host, or has another host than before.
    """
    with reach(server) as client:
        write(_listed(client, below), LEASES, output)


def _listed(client: SyncClient, below: str) -> Iterator[Lease]:
    if below.count("/") == 2:
        with suppress(NotFound):
            yield client.lease(below)
    yield from client.leases(below=below)


@command(app, "stead lease show lab/monday")
def show(path: LeasePath, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Show a lease with its hosts, events and notices.

    It shows its status, how its hosts differ from what was booked, how late its events came, and its operation.
    """
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
    """Write every part of a lease as a table."""
    fields = [
        ("path", found.path),
        ("status", found.status),
        ("reason", found.reason),
        ("degraded", "yes" if found.degraded else "no"),
        ("from", clock(found.start)),
        ("to", clock(found.end)),
        ("notify at", clock(found.before_end)),
        ("labels", ", ".join(f"{name}={value}" for name, value in found.labels.items())),
        ("created", clock(found.created_at)),
        ("changed", clock(found.changed_at)),
        ("operation", _running(running)),
    ]
    table(("FIELD", "VALUE"), [(name, printable(value)) for name, value in fields if value])
    _part(
        ("RESERVATION", "STATUS", "BOOKED", "HOSTS", "PROPERTIES", "FLAGS", "LANE"),
        [
            (
                part.name,
                part.status,
                str(part.count),
                ", ".join(part.hosts),
                _properties(part),
                _flags(part),
                part.lane,
            )
            for part in found.reservations
        ],
        right=("BOOKED",),
    )
    errors = any(one.error for one in found.events)
    _part(
        ("EVENT", "AT", "STATUS", "DELAY", *(("ERROR",) if errors else ())),
        [
            (one.kind, clock(one.at), one.status, _late(one.delay), *((one.error,) if errors else ()))
            for one in found.events
        ],
        right=("DELAY",),
    )
    _part(
        ("NOTICE", "AT", "TO", "ATTEMPTS", "DELIVERED", "ERROR"),
        [
            (one.event, clock(one.created_at), one.url, str(one.attempts), clock(one.delivered_at), one.error)
            for one in found.notices
        ],
        right=("ATTEMPTS",),
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


def _properties(part: Reservation) -> str:
    return ", ".join(f"{name} {value}" for name, value in part.properties.items())


def _flags(part: Reservation) -> str:
    flags = {"missing_resources": part.missing_resources, "resources_changed": part.resources_changed}
    return ", ".join(name for name, flag in flags.items() if flag)


@command(app, "stead lease calendar --days 7")
def calendar(
    start: Annotated[
        str, typer.Option(FROM, metavar="TIME", help="Start: now, 2030-01-31T12:00:00Z, or +1h (from now).")
    ] = "now",
    end: Annotated[
        str | None, typer.Option(TO, metavar="TIME", help="End: 2030-02-01T12:00:00Z, or +2h (after the start).")
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", metavar="N", min=1, max=366, help="Number of days; default 1.")
    ] = None,
    output: SingleOutput = Format.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show which lease has which host, and when.

    Each host is a line, each lease a letter. Times are in UTC.
    """
    if end is not None and days is not None:
        fail(f"{TO} and --days exclude each other", Code.USAGE)
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
        line("no hosts yet; add one: stead host add --help")
    if shown.legend:
        line()
        table(("", "LEASE", "STATUS", "FROM", "TO"), shown.legend)
    if shown.notes:
        line()
    for one in shown.notes:
        line(one)


@command(app, "stead lease lateness --hours 168")
def lateness(
    hours: Annotated[
        int, typer.Option("--hours", metavar="N", min=1, max=24 * 366, help="Number of past hours; default 24.")
    ] = 24,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show how late recent events of leases came."""
    with reach(server) as client:
        found = client.lateness(hours=hours)
    if output in (ListFormat.JSON, ListFormat.YAML):
        data(plain(found), output)
    else:
        write([found], LATE, output)
