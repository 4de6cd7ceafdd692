"""`stead agent`: run agents, and manage their identities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stead.cli import serve
from stead.cli.command import command, group
from stead.cli.durations import duration
from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, fail, line, note
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, AgentIdentity
from stead.lifecycle.files.times import seconds
from stead.pki.files import FileExists
from stead.pki.identity import DESCRIPTION, Candidate, Description

app = group()


def _status(agent: AgentIdentity) -> str:
    if agent.revoked_at is not None:
        return "revoked"
    if agent.connected:
        return "rejected" if agent.rejected else "connected"
    return "away" if agent.last_seen is not None else "never connected"


AGENTS: Columns[AgentIdentity] = Columns(
    narrow=(
        ("AGENT", lambda agent: agent.name),
        ("STATUS", _status),
        ("LANES", lambda agent: ", ".join(agent.lanes)),
        ("IDENTITY EXPIRES", lambda agent: clock(agent.expires_at) or "-"),
    ),
    wide=(
        ("JOINED", lambda agent: clock(agent.joined_at) or "-"),
        ("LAST HEARTBEAT", lambda agent: clock(agent.last_seen) or "-"),
        ("VERSION", lambda agent: agent.version or "-"),
        ("REJECTED", lambda agent: "; ".join(f"{lane}: {why}" for lane, why in agent.rejected.items()) or "-"),
    ),
    name=lambda agent: agent.name,
)

command(app, "stead agent run --lane aws.us-east-1 --set url=http://127.0.0.1:7780", "run")(serve.agent)


@command(app, "stead agent invite a1 --lane aws.us-east-1 --lifetime 30m")
def invite(
    name: Annotated[str, typer.Argument(help="Name of the agent.")],
    lane: Annotated[list[str], typer.Option("--lane", help="Lane that the agent may serve. Repeatable.")],
    lifetime: Annotated[
        str,
        typer.Option("--lifetime", metavar="TIME", callback=duration, help="Lifetime of the token: 90s, 10m, 1h."),
    ] = "1h",
    server: Server = DEFAULT_SERVER,
) -> None:
    """Create a token with which one agent joins once.

    The agent joins with this name and for these lanes. The token is printed here and kept nowhere: hand it over as
    you would a password.
    """
    with reach(server) as client:
        made = client.invite_agent(name, lane, seconds(lifetime))
    note(f"{made.name} may join until {clock(made.expires_at)}, for {', '.join(made.lanes)}. On its machine:")
    note(f"  stead agent join --server {server} --token TOKEN --identity {made.name}")
    note("The token, which is shown only now:")
    line(made.token)


@command(app, 'stead agent join --server https://stead.example:7770 --token "$TOKEN" --identity a1')
def join(
    token: Annotated[
        str, typer.Option("--token", envvar="STEAD_JOIN_TOKEN", help="Token that `stead agent invite` printed.")
    ],
    identity: Annotated[Path, typer.Option("--identity", help="New folder for the identity of the agent.")],
    name: Annotated[str, typer.Option("--name", help="Reject a token for an agent with another name.")] = "",
    server: Server = DEFAULT_SERVER,
) -> None:
    """Create keys and have the server sign them, with an invitation token.

    Private keys never leave the folder.
    """
    if (identity / DESCRIPTION).exists():
        fail(f"{identity}: the folder has an identity already", Code.USAGE)
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


@command(app, "stead agent list -o wide")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List agents.

    An agent without a heartbeat for 30 seconds is away.
    """
    with reach(server) as client:
        write(client.agents().items, AGENTS, output)


@command(app, "stead agent revoke a1")
def revoke(name: Annotated[str, typer.Argument(help="Name of the agent.")], server: Server = DEFAULT_SERVER) -> None:
    """Revoke the identity of an agent.

    Its connections end at once, and it cannot reconnect. Its orders pass to other agents of its lanes when its
    custody expires. The name can be invited again.
    """
    with reach(server) as client:
        gone = client.revoke_agent(name)
    line(f"{gone.name} was revoked at {clock(gone.revoked_at)}")
