"""`stead lane`: the ways to providers, and who serves them."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, fail, line
from stead.cli.remote import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Lane

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The ways to providers, and who serves them.")


def _agents(lane: Lane) -> str:
    return ", ".join(agent.name if agent.there else f"{agent.name} (away)" for agent in lane.agents)


LANES: Columns[Lane] = Columns(
    narrow=(
        ("LANE", lambda lane: lane.lane),
        ("LIMIT", lambda lane: str(lane.limit or "-")),
        ("IN FLIGHT", lambda lane: str(lane.in_flight)),
        ("WAITING", lambda lane: str(lane.waiting)),
        ("THROTTLED", lambda lane: str(lane.throttled or "-")),
        ("AGENTS", _agents),
    ),
    wide=(
        ("REGIONS", lambda lane: str(lane.regions or "-")),
        ("UNTAKEN", lambda lane: str(lane.untaken)),
        ("LAST THROTTLED", lambda lane: clock(lane.throttled_at)),
        ("SURVEY", lambda lane: clock(lane.survey_at)),
    ),
    name=lambda lane: lane.lane,
    right=("LIMIT", "IN FLIGHT", "WAITING", "THROTTLED", "REGIONS", "UNTAKEN"),
)


@app.callback()
def lane() -> None:
    """The ways to providers, and who serves them."""


@app.command("list", short_help="Lanes.", epilog="Example: stead lane list -o wide")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Lanes that somebody has served or that orders stand on.

    LIMIT is how many members a lane bears at once. IN FLIGHT are those whose orders were sent, WAITING those that
    wait for room. THROTTLED counts the calls that the provider refused because there were too many. REGIONS is how
    many regions the provider bears at once, UNTAKEN counts orders that were sent and that nobody has taken. An agent
    that was not heard of for 30 seconds is away.
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
