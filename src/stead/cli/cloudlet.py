"""`stead cloudlet`: edge sites, each with an agent of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.catalog.edge import lane_of
from stead.cli.change import ChangeOptions, change
from stead.cli.columns import BY, CREATED, LANE, OPERATION, PATH, STATE
from stead.cli.command import command
from stead.cli.durations import duration
from stead.cli.listing import Columns
from stead.cli.noun import Noun, Verb
from stead.cli.output import Code, fail, line, note
from stead.cli.paths import CloudletPath
from stead.cli.server_commands import Server, clock, reach
from stead.cli.spec_options import Settings, spec_of
from stead.client import DEFAULT_SERVER, NotFound, ProblemError, Resource
from stead.lifecycle.files.times import seconds


def _agent(site: Resource) -> str:
    """The agent that connected last, and whether it is away."""
    name = str(site.facts.get("agent", ""))
    return f"{name} (away)" if name and site.facts.get("connected") is False else name


SITES: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        ("SINCE", lambda site: clock(site.changed_at)),
        ("AGENT", _agent),
        ("VERSION", lambda site: str(site.facts.get("version", ""))),
        OPERATION,
    ),
    wide=(LANE, BY, CREATED),
)
CLOUDLET = Noun(
    "cloudlet",
    CloudletPath,
    "a site",
    "sites",
    "lab/berlin",
    columns=SITES,
    show="its state and since when, its agent, and what the agent can create",
    observed=False,
    verbs={"delete": Verb("Delete a site without resources.", forceable=False)},
)
app = CLOUDLET.app
RequiredReason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason; kept with the operation.")]


@CLOUDLET.change("lab/berlin --wait --timeout 10m")
def create(
    options: ChangeOptions,
    path: CloudletPath,
    settings: Settings = None,
    wait: Annotated[
        bool, typer.Option("--wait/--detach", help="Follow it until its agent is connected, or return at once.")
    ] = False,
) -> None:
    """Create a site, which is ready when its agent has connected."""
    change(options, path, "create", spec=spec_of(None, settings))
    if not wait and not options.dry_run:
        note(f"{path} waits for its agent: stead cloudlet invite {path.removeprefix('/')}")


@command(app, "stead cloudlet invite lab/berlin --lifetime 30m")
def invite(
    path: CloudletPath,
    name: Annotated[str, typer.Option("--name", help="Name of the agent; default NAMESPACE-SITE.")] = "",
    lifetime: Annotated[
        str,
        typer.Option("--lifetime", metavar="TIME", callback=duration, help="Lifetime of the token: 90s, 10m, 1h."),
    ] = "1h",
    server: Server = DEFAULT_SERVER,
) -> None:
    """Create a token with which the agent of a site joins once.

    The token is printed here and kept nowhere: hand it over as you would a password. The commands to type at the site
    are printed, too.
    """
    lane = lane_of(path)
    with reach(server) as client:
        try:
            client.resource(path)
        except NotFound:
            note(f"site {path} does not exist yet; create it: stead cloudlet create {path.removeprefix('/')}")
        try:
            made = client.invite_agent(name or agent_of(path), [lane], seconds(lifetime))
        except ProblemError as error:
            if error.problem.code != "no-identities":
                raise
            fail(
                f"{error.problem.detail}; agents of this cell need no token. On the site:\n"
                f"  stead agent run --nats URL --cell CELL --lane {lane} --name {agent_of(path)} {DRIVER}",
                Code.REJECTED,
            )
    note(f"{made.name} may join until {clock(made.expires_at)}, for {path}. On the site:")
    note(f"  stead agent join --server {server} --token TOKEN --identity {made.name}")
    note(f"  stead agent run --identity {made.name} {DRIVER}")
    note("The token, which is shown only now:")
    line(made.token)


DRIVER = "--driver process --set root=/var/lib/stead"
"""Options of an agent that runs clusters and apps on its own machine."""


def agent_of(path: str) -> str:
    """The name of a site's agent."""
    return "-".join(path.split("/")[1:3])


@CLOUDLET.change("lab/berlin --to 1.2.0 --timeout 1h", extra=("queue",))
def upgrade(
    options: ChangeOptions,
    path: CloudletPath,
    to: Annotated[str, typer.Option("--to", metavar="VERSION", help="Version to upgrade to.")],
) -> None:
    """Upgrade the agent of a site to another version.

    The agent starts one of the other version, which takes its place. Until then nothing changes at the site.
    """
    change(options, path, "upgrade", spec={"version": to})


@CLOUDLET.change('lab/berlin --reason "the disk was full"', without=("wait", "timeout"))
def resolve(options: ChangeOptions, path: CloudletPath, reason: RequiredReason) -> None:
    """Declare a failed upgrade resolved (admins only).

    Resources at the site can be changed again.
    """
    change(options, path, "resolve")


@CLOUDLET.change('lab/berlin --reason "the machine burnt down"')
def forget(options: ChangeOptions, path: CloudletPath, reason: RequiredReason) -> None:
    """Remove the records of a site whose agent is lost (admins only).

    Records of all its resources are removed, too. Nothing is changed on the site: what may run there is listed as
    orphans of its lane. The name is free afterwards. An agent that comes back for the site is rejected, and ends.
    """
    change(options, path, "forget")
    if options.wait and not options.dry_run:
        _note_left_behind(options.server, lane_of(path))


def _note_left_behind(server: str, lane: str) -> None:
    """Write what may still run at a site that was forgotten."""
    with reach(server) as client:
        left = client.orphans(lane=lane).items
    for orphan in left:
        note(f"left behind: {orphan.facts.get('kind', 'object')} {orphan.path}, {orphan.state}")
    if left:
        note(f"what may still run there is listed: stead orphan list --lane {lane}")
