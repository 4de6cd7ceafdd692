"""`stead lane`: the work queues of provider regions and sites."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.command import command, group
from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, fail, line
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Lane, LaneGrant, ServingAgent

app = group()


def _agents(lane: Lane) -> str:
    return ", ".join(f"{agent.name}{_unwell(agent)}" for agent in lane.agents)


def _unwell(agent: ServingAgent) -> str:
    if not agent.connected:
        return " (away)"
    return " (rejected by the provider)" if agent.rejected else ""


LANES: Columns[Lane] = Columns(
    narrow=(
        ("LANE", lambda lane: lane.lane),
        ("LIMIT", lambda lane: str(lane.limit or "-")),
        ("IN FLIGHT", lambda lane: str(lane.in_flight)),
        ("WAITING", lambda lane: str(lane.waiting)),
        ("THROTTLED", lambda lane: str(lane.throttled or "-")),
        ("NAMESPACES", lambda lane: ", ".join(lane.namespaces) or "-"),
        ("AGENTS", _agents),
    ),
    wide=(
        ("REGIONS", lambda lane: str(lane.regions or "-")),
        ("UNTAKEN", lambda lane: str(lane.untaken)),
        ("LAST THROTTLED", lambda lane: clock(lane.throttled_at)),
        ("NEXT SURVEY", lambda lane: clock(lane.next_inventory_at)),
    ),
    name=lambda lane: lane.lane,
    right=("LIMIT", "IN FLIGHT", "WAITING", "THROTTLED", "REGIONS", "UNTAKEN"),
)


GRANTS: Columns[LaneGrant] = Columns(
    narrow=(
        ("NAMESPACE", lambda grant: grant.namespace),
        ("LANE", lambda grant: grant.lane),
        ("ALLOWED", lambda grant: "yes" if grant.allowed else "no"),
        ("REASON", lambda grant: grant.reason),
    ),
    wide=(("BY", lambda grant: grant.changed_by), ("SINCE", lambda grant: clock(grant.changed_at))),
    name=lambda grant: f"{grant.lane} {grant.namespace}",
)

Pattern = Annotated[
    str,
    typer.Argument(metavar="LANE", help="Lane; 'aws.*' for every lane that begins with aws., '*' for every lane."),
]
Space = Annotated[str, typer.Argument(metavar="NAMESPACE", help="Namespace; '*' for all, future ones included.")]
Reason = Annotated[str, typer.Option(help="Reason; kept in the journal.")]


def _lanes(pattern: str) -> str:
    """What a pattern stands for, in words: a wildcard is never used by accident."""
    if pattern == "*":
        return "every lane"
    return f"every lane that begins with {pattern[:-1]}" if pattern.endswith(".*") else f"the lane {pattern}"


def _space(namespace: str) -> str:
    return "every namespace" if namespace == "*" else f"namespace {namespace}"


@command(app, "stead lane list -o wide")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List lanes.

    A lane is listed once an agent has served it or an order was sent to it. LIMIT is the maximum number of members
    at once. IN FLIGHT counts members whose orders were sent, WAITING those that wait for a slot. THROTTLED counts
    calls that the provider rejected because of its rate limit. REGIONS is the maximum number of regions of the
    provider at once, UNTAKEN counts orders that were sent and that no agent has taken. NAMESPACES are those that
    may use the lane; * is every namespace. An agent without a heartbeat for 30 seconds is away; `stead doctor`
    gives the reason of a provider that rejects its agent.
    """
    with reach(server) as client:
        write(client.lanes(), LANES, output)


@command(app, "stead lane survey aws.us-east-1")
def survey(
    name: Annotated[str, typer.Argument(metavar="LANE", help="Lane, such as aws.us-east-1.")],
    server: Server = DEFAULT_SERVER,
) -> None:
    """Have the agent of a lane report every object at the provider now.

    Agents do so every half an hour. The cell corrects its records, and lists an object that no resource stands for
    once it was found twice: see `stead orphan list`.
    """
    with reach(server) as client:
        if not client.request_inventory(name):
            fail(f"lane {name}: no agent answers; see: stead lane list")
    line(f"the agent of {name} surveys it")


@command(app, "stead lane limit aws --members 30 --regions 10")
def limit(
    name: Annotated[str, typer.Argument(help="Lane, such as aws.us-east-1, or provider, such as aws.")],
    members: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of members at once; default none of its own."),
    ] = None,
    regions: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of regions of a provider at once; default unlimited.")
    ] = None,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Limit the members of a lane, or the regions of a provider, at once.

    The limit holds for all controllers and agents together. Orders in flight continue.
    """
    if "." in name and regions is not None:
        raise typer.BadParameter("only a provider has regions", param_hint="--regions")
    with reach(server) as client:
        if "." in name:
            client.limit_lane(name, members)
            typer.echo(f"{name}: {members or 'as its provider has it'}")
        else:
            client.limit_provider(name, members, regions)
            typer.echo(
                f"{name}: {members or 'any number of'} members in a region, {regions or 'any number of'} regions"
            )


@command(app, "stead lane allow aws.us-east-1 shop")
def allow(name: Pattern, namespace: Space, reason: Reason = "", server: Server = DEFAULT_SERVER) -> None:
    """Allow a namespace to use a lane.

    A namespace may use the lanes that are allowed and those of its own sites. No agent has to serve the lane yet.
    Wildcards: 'aws.*' and '*' for lanes, '*' for namespaces.
    """
    with reach(server) as client:
        answer = client.allow_lane(name, namespace, reason)
    line(f"{_space(namespace)} may use {_lanes(name)}{'' if answer.changed else ', as before'}")
    if answer.still_denied:
        line(f"it stays denied to {', '.join(answer.still_denied)}")


@command(app, "stead lane deny aws.us-east-1 shop")
def deny(name: Pattern, namespace: Space, reason: Reason = "", server: Server = DEFAULT_SERVER) -> None:
    """Deny a lane to a namespace.

    Resources on the lane keep running, and can be stopped and deleted; none is created there or gets a new spec.
    Where a broader grant allows the lane, the denial is recorded and outranks it.
    """
    with reach(server) as client:
        answer = client.deny_lane(name, namespace, reason)
    line(f"{_space(namespace)} may not use {_lanes(name)}{'' if answer.changed else ', as before'}")


@command(app, "stead lane grants --namespace shop")
def grants(
    namespace: Annotated[str | None, typer.Option(help="Those that count for this namespace.")] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Which namespaces may use which lanes.

    A denial outranks every grant. A namespace owns the lanes of its own sites (edge.NAMESPACE.SITE) without a grant.
    """
    with reach(server) as client:
        write(client.lane_grants(namespace).items, GRANTS, output)
