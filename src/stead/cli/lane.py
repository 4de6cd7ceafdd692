"""`stead lane`: the ways to providers, and who serves them."""

from __future__ import annotations

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat
from stead.cli.remote import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Lane

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The ways to providers, and who serves them.")


def _agents(lane: Lane) -> str:
    return ", ".join(agent.name if agent.there else f"{agent.name} (away)" for agent in lane.agents)


LANES: Columns[Lane] = Columns(
    narrow=(
        ("LANE", lambda lane: lane.lane),
        ("WAITING", lambda lane: str(lane.waiting)),
        ("WORKING", lambda lane: str(lane.working)),
        ("AGENTS", _agents),
    ),
    wide=(("SURVEY", lambda lane: clock(lane.survey_at)),),
    name=lambda lane: lane.lane,
    right=("WAITING", "WORKING"),
)


@app.callback()
def lane() -> None:
    """The ways to providers, and who serves them."""


@app.command("list", short_help="Lanes.", epilog="Example: stead lane list -o wide")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Lanes that somebody has served or that orders stand on.

    WAITING are orders that nobody has taken, WORKING those that somebody has. An agent that was not heard of for 30
    seconds is away.
    """
    with reach(server) as client:
        write(client.lanes(), LANES, output)
