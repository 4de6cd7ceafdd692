"""`stead lane`: the ways to providers, and who serves them."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, fail, line
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Lane, LaneGrant, ServingAgent

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The ways to providers, and who serves them.")


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
        ("SURVEY", lambda lane: clock(lane.next_inventory_at)),
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
    typer.Argument(metavar="LANE", help="A lane; 'aws.*' for every lane that begins with aws., '*' for every lane."),
]
Space = Annotated[str, typer.Argument(metavar="NAMESPACE", help="A namespace; '*' for all, also those to come.")]
Reason = Annotated[str, typer.Option(help="Why; kept in the journal.")]


def _lanes(pattern: str) -> str:
    """What a pattern stands for, in words: a wildcard is never used by accident."""
    if pattern == "*":
        return "every lane"
    return f"every lane that begins with {pattern[:-1]}" if pattern.endswith(".*") else f"the lane {pattern}"


def _space(namespace: str) -> str:
    return "every namespace" if namespace == "*" else f"namespace {namespace}"


@app.callback()
def lane() -> None:
    """The ways to providers, and who serves them."""


@app.command("list", short_help="Lanes.", epilog="Example: stead lane list -o wide")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Lanes that an agent has served or that orders were sent to.

    LIMIT is how many members a lane bears at once. IN FLIGHT are those whose orders were sent, WAITING those that
    wait for room. THROTTLED counts the calls that the provider refused because there were too many. REGIONS is how
    many regions the provider bears at once, UNTAKEN counts orders that were sent and that no agent has taken.
    NAMESPACES are those that may use the lane; * is every namespace. An agent that was not heard of for 30 seconds is
    away; `stead doctor` gives the reason of a provider that rejects its agent.
    """
    with reach(server) as client:
        write(client.lanes(), LANES, output)


@app.command(short_help="Have a lane tell all that it has.", epilog="Example: stead lane survey aws.us-east-1")
def survey(
    name: Annotated[str, typer.Argument(metavar="LANE", help="A lane, such as aws.us-east-1.")],
    server: Server = DEFAULT_SERVER,
) -> None:
    """Have the agent of a lane tell all that is there now, and not in half an hour at the latest.

    What was believed is set right, and what nobody owns is listed once it was found twice: see `stead orphan list`.
    """
    with reach(server) as client:
        if not client.survey_lane(name):
            fail(f"nobody who serves {name} answers")
    line(f"{name} tells what it has")


@app.command(
    short_help="Say how much a lane or a provider bears.",
    epilog="Example: stead lane limit aws --members 30 --regions 10",
)
def limit(
    name: Annotated[str, typer.Argument(help="A lane, such as aws.us-east-1, or a provider, such as aws.")],
    members: Annotated[
        int | None,
        typer.Option(min=1, help="Members at once; without it, no limit of its own."),
    ] = None,
    regions: Annotated[
        int | None, typer.Option(min=1, help="Of a provider: regions at once; without it, no limit.")
    ] = None,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Say how much a lane or a provider bears at once.

    It holds for all controllers and agents together, from now on: what waits for room gets it, if there is some now;
    what is in flight goes on.
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


@app.command(short_help="Let a namespace use a lane.", epilog="Example: stead lane allow aws.us-east-1 shop")
def allow(name: Pattern, namespace: Space, reason: Reason = "", server: Server = DEFAULT_SERVER) -> None:
    """Let a namespace use a lane.

    A namespace uses the lanes that it was given and those of its own sites, and no others. No agent has to serve the
    lane yet. Wildcards are those that you write: 'aws.*' and '*' for lanes, '*' for namespaces.
    """
    with reach(server) as client:
        answer = client.allow_lane(name, namespace, reason)
    line(f"{_space(namespace)} may use {_lanes(name)}{'' if answer.changed else ', as before'}")
    if answer.still_denied:
        line(f"it stays denied to {', '.join(answer.still_denied)}")


@app.command(short_help="Take a lane from a namespace.", epilog="Example: stead lane deny aws.us-east-1 shop")
def deny(name: Pattern, namespace: Space, reason: Reason = "", server: Server = DEFAULT_SERVER) -> None:
    """Take a lane from a namespace.

    What is there goes on, and can be stopped and deleted; nothing new comes to the lane, and nothing there gets a new
    spec. Where a broader grant allows the lane, the denial is recorded and outranks it.
    """
    with reach(server) as client:
        answer = client.deny_lane(name, namespace, reason)
    line(f"{_space(namespace)} may not use {_lanes(name)}{'' if answer.changed else ', as before'}")


@app.command(short_help="Which namespaces may use which lanes.", epilog="Example: stead lane grants --namespace shop")
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
