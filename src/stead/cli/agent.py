"""`stead agent`: run agents, and say who may be one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stead.cli import serve
from stead.cli.durations import duration
from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, fail, line, note
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, AgentIdentity
from stead.lifecycle.files.times import seconds
from stead.pki.files import FileExists
from stead.pki.identity import DESCRIPTION, Candidate, Description

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Run agents, and say who may be one.")


def _standing(agent: AgentIdentity) -> str:
    if agent.revoked_at is not None:
        return "revoked"
    if agent.connected:
        return "rejected" if agent.rejected else "there"
    return "away" if agent.last_seen is not None else "never seen"


AGENTS: Columns[AgentIdentity] = Columns(
    narrow=(
        ("AGENT", lambda agent: agent.name),
        ("STANDING", _standing),
        ("LANES", lambda agent: ", ".join(agent.lanes)),
        ("IDENTITY UNTIL", lambda agent: clock(agent.expires_at) or "-"),
    ),
    wide=(
        ("JOINED", lambda agent: clock(agent.joined_at) or "-"),
        ("LAST SEEN", lambda agent: clock(agent.last_seen) or "-"),
        ("VERSION", lambda agent: agent.version or "-"),
        ("REJECTED", lambda agent: "; ".join(f"{lane}: {why}" for lane, why in agent.rejected.items()) or "-"),
    ),
    name=lambda agent: agent.name,
)

app.command(
    "run",
    short_help="Run an agent.",
    epilog="Example: stead agent run --lane aws.us-east-1 --set url=http://127.0.0.1:7780",
)(serve.agent)


@app.command(short_help="Let an agent join.", epilog="Example: stead agent invite a1 --lane aws.us-east-1 --for 30m")
def invite(
    name: Annotated[str, typer.Argument(help="The agent's name.")],
    lane: Annotated[list[str], typer.Option("--lane", help="A lane that it may serve; may be repeated.")],
    lasting: Annotated[
        str, typer.Option("--for", metavar="TIME", callback=duration, help="How long the token holds: 90s, 10m, 1h.")
    ] = "1h",
    server: Server = DEFAULT_SERVER,
) -> None:
    """Print a token with which one agent may join, once, under this name and for these lanes.

    The token is printed here and kept nowhere. Hand it over as you would a password.
    """
    with reach(server) as client:
        made = client.invite_agent(name, lane, seconds(lasting))
    note(f"{made.name} may join until {clock(made.expires_at)}, for {', '.join(made.lanes)}. Where it is to run:")
    note(f"  stead agent join --server {server} --token TOKEN --identity {made.name}")
    note("The token, which is shown only now:")
    line(made.token)


@app.command(
    short_help="Become an agent that was invited.",
    epilog='Example: stead agent join --server https://stead.example:7770 --token "$TOKEN" --identity a1',
)
def join(
    token: Annotated[str, typer.Option("--token", envvar="STEAD_JOIN_TOKEN", help="What `invite` printed.")],
    identity: Annotated[Path, typer.Option("--identity", help="The folder to make, for the agent's identity.")],
    name: Annotated[str, typer.Option("--name", help="Refuse a token that is for another agent than this.")] = "",
    server: Server = DEFAULT_SERVER,
) -> None:
    """Make keys here, and have the server vouch for them. Private keys never leave the folder."""
    if (identity / DESCRIPTION).exists():
        fail(f"{identity} has an identity in it already", Code.USAGE)
    candidate = Candidate(name or "agent")
    with reach(server) as client:
        got = client.join_agent(token, candidate.user_key, candidate.request, candidate.proof, name)
    about = Description(got.name, got.cell, list(got.bus), "agent", list(got.lanes))
    try:
        candidate.admitted(identity, about, got.jwt, got.certificate, got.authority)
    except FileExists as error:
        fail(str(error))
    line(f"{got.name} has joined {got.cell}, for {', '.join(got.lanes)}")
    note(f"Run it with: stead agent run --identity {identity}")


@app.command("list", short_help="Agents.", epilog="Example: stead agent list -o wide")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Agents that have an identity or were heard of. One that was not heard of for 30 seconds is away."""
    with reach(server) as client:
        write(client.agents().items, AGENTS, output)


@app.command(short_help="Make an agent nobody.", epilog="Example: stead agent revoke a1")
def revoke(name: Annotated[str, typer.Argument(help="The agent's name.")], server: Server = DEFAULT_SERVER) -> None:
    """Its connections end at once, and it cannot come back. What it had in hand passes on when its custody is over.

    Other agents of its lanes go on. The name can be invited anew.
    """
    with reach(server) as client:
        gone = client.revoke_agent(name)
    line(f"{gone.name} was revoked at {clock(gone.revoked_at)}")
