"""`stead scaling`: policies that create and delete instances of an app, or clusters, by demand."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from stead.cli.command import command, group
from stead.cli.listing import Columns, printable, write
from stead.cli.output import Code, ListFormat, data, fail, line, note, table
from stead.cli.paths import any_path
from stead.cli.server_commands import Output, Server, clock, plain, reach
from stead.cli.spec_options import read_spec
from stead.client import DEFAULT_SERVER, Scaling, SteadError, SyncClient
from stead.client.models import ScalingPolicy

app = group()

POLICIES: Columns[Scaling] = Columns(
    narrow=(
        ("POLICY", lambda one: f"{one.namespace}/{one.name}"),
        ("INSTANCES", lambda one: _instances(one.policy)),
        ("PLACES", lambda one: str(len(one.policy.places))),
        ("BOUNDS", lambda one: f"{one.policy.minimum}-{one.policy.maximum}"),
        ("DECISION", lambda one: one.code),
    ),
    wide=(
        ("SINCE", lambda one: clock(one.evaluated_at)),
        ("BY", lambda one: one.changed_by),
        ("MESSAGE", lambda one: one.message),
    ),
    name=lambda one: f"{one.namespace}/{one.name}",
    right=("PLACES",),
)


def _complete(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of policies, as the server lists them; none where it does not answer."""
    try:
        with SyncClient(ctx.params.get("server") or DEFAULT_SERVER, timeout=2.0, retries=0) as client:
            found = [f"{one.namespace}/{one.name}" for one in client.scaling_page(limit=200).items]
    except SteadError:
        return []
    return [name for name in found if name.startswith(incomplete)]


def _checked(value: str) -> str:
    parts = any_path(value).split("/")[1:]
    if len(parts) != 2:
        raise typer.BadParameter(f"{value!r} is not a policy, such as namespace/name")
    return "/".join(parts)


Policy = Annotated[
    str,
    typer.Argument(
        metavar="NS/NAME", help="A policy.", callback=_checked, autocompletion=_complete, show_default=False
    ),
]


@command(app, "stead scaling put shop/web -f web.yaml")
def put(
    policy: Policy,
    file: Annotated[str, typer.Option("--file", "-f", help="Policy, in YAML or JSON; - is stdin.")],
    server: Server = DEFAULT_SERVER,
) -> None:
    """Create or replace a policy.

    The file has `app` and `places` (clusters), or `cluster` and `places` (sites), then `up_above` and `down_below`
    (demand for each instance), `maximum`, and fields that differ from their defaults.
    """
    with reach(server) as client:
        client.put_scaling(*_names(policy), read_spec(file))
    line(f"{policy} is in force")


@command(app, "stead scaling list --namespace shop")
def list_(
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Namespace to list; default all.")
    ] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """List policies, and the last decision of each."""
    with reach(server) as client:
        write(client.scalings(namespace=namespace), POLICIES, output)


@command(app, "stead scaling show shop/web")
def show(policy: Policy, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Show a policy: its last decision and reason, demand, instances, actions."""
    with reach(server) as client:
        found = client.scaling(*_names(policy))
    if output in (ListFormat.JSON, ListFormat.YAML):
        data(plain(found), output)
        return
    if output is ListFormat.NAME:
        write([found], POLICIES, output)
        return
    for sentence in _sentences(found):
        line(printable(sentence))
    if found.instances:
        line()
        rows = [(one.path, one.state, "the policy" if one.own else "others") for one in found.instances]
        table(("INSTANCE", "STATE", "CREATED BY"), rows)
    if found.actions:
        line()
        columns = ("PLACE", "ACTION", "AT", "ENDED", "OPERATION")
        acts = [
            (act.place, act.action, clock(act.at), _ended(act.ended_at, act.failed), act.operation or "")
            for act in found.actions
        ]
        table(columns, acts)


@command(app, "stead scaling delete shop/web")
def delete(policy: Policy, server: Server = DEFAULT_SERVER) -> None:
    """Delete a policy; its instances stay."""
    with reach(server) as client:
        client.remove_scaling(*_names(policy))
    line(f"{policy} is no longer in force; its instances stay")


@command(app, "stead scaling demand shop/web 250")
def demand(
    policy: Policy,
    value: Annotated[float, typer.Argument(metavar="N", help="Demand.", show_default=False)],
    place: Annotated[
        str | None,
        typer.Option("--place", metavar="PATH", help="Place of the demand, for a policy that follows each place."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="Time of measurement, such as 2026-01-31T12:00:00Z; default now."),
    ] = None,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Report demand to a policy, in the unit of its thresholds.

    The latest figure counts.
    """
    where = any_path(place) if place is not None else None
    with reach(server) as client:
        taken = client.report_demand(*_names(policy), [(where, value, _time(at))])
    if taken.outdated:
        note("the policy has a newer figure: this one changes nothing")
    line(f"{policy} {'knows' if taken.accepted else 'knew'} the demand{f' at {where}' if where else ''}")


def _names(policy: str) -> tuple[str, str]:
    namespace, _, name = policy.partition("/")
    return namespace, name


def _instances(policy: ScalingPolicy) -> str:
    """What a policy makes, by name."""
    return policy.app or f"cluster {policy.cluster}"


def _time(at: str | None) -> datetime | None:
    if at is None:
        return None
    try:
        time = datetime.fromisoformat(at)
    except ValueError:
        fail(f"{at!r} is not a time, such as 2026-01-31T12:00:00Z", Code.USAGE)
    if time.tzinfo is None:
        fail(f"{at!r} has no offset from UTC, such as Z", Code.USAGE)
    return time


def _ended(at: datetime | None, failed: bool) -> str:
    return f"{clock(at)}{' failed' if failed else ''}" if at is not None else "in progress"


def _sentences(found: Scaling) -> list[str]:
    """A policy in sentences."""
    policy, serving = found.policy, len(found.instances)
    bounds = f"{policy.minimum} to {policy.maximum}"
    places = ", ".join(policy.places)
    said = [
        f"{found.namespace}/{found.name}: {found.code}, {clock(found.evaluated_at) or 'not looked at yet'}",
        f"because: {found.message}",
        f"instances of {_instances(policy)}: {serving}, of {bounds}, at {places}",
    ]
    for figure in found.demand:
        where = f"at {figure.place}" if figure.place else "over all places"
        said.append(f"demand {where}: {figure.value:g}, measured {clock(figure.at)}, told by {figure.reported_by}")
    return said
