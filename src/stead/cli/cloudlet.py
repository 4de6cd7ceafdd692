"""`stead cloudlet`: edge sites, each with an agent of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.catalog.edge import lane_of
from stead.cli.action_commands import add_verb
from stead.cli.columns import BY, CREATED, LANE, OPERATION, PATH, STATE
from stead.cli.durations import duration
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns
from stead.cli.output import Code, ListFormat, fail, line, note
from stead.cli.paths import CloudletPath
from stead.cli.progress import DryRun, How, Key, Queueing, Wait, Why, change, on_conflict
from stead.cli.server_commands import Output, Server, Timeout, clock, reach
from stead.cli.spec_options import Settings, spec_of
from stead.client import DEFAULT_SERVER, NotFound, ProblemError, Resource
from stead.lifecycle.files.times import seconds

KIND = "cloudlet"

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Edge sites, each with an agent of its own.")


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
    name=lambda site: site.path,
)


@app.command(short_help="Make a site.", epilog="Example: stead cloudlet create lab/berlin --wait --timeout 10m")
def create(
    path: CloudletPath,
    settings: Settings = None,
    reason: Why = "",
    wait: Annotated[
        bool, typer.Option("--wait/--detach", help="Follow it until its agent is connected, or return at once.")
    ] = False,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Make a site. It is ready when its agent has connected; without --wait the command returns before that."""
    how = How(output, wait, timeout, dry_run, key)
    change(server, path, "create", how, kind=KIND, spec=spec_of(None, settings), reason=reason)
    if not wait and not dry_run:
        note(f"It waits for its agent: stead cloudlet invite {path.removeprefix('/')}")


@app.command(short_help="Let a site's agent join.", epilog="Example: stead cloudlet invite lab/berlin --for 30m")
def invite(
    path: CloudletPath,
    name: Annotated[
        str, typer.Option("--name", help="The agent's name. Without it: the namespace's and the site's.")
    ] = "",
    lasting: Annotated[
        str, typer.Option("--for", metavar="TIME", callback=duration, help="How long the token holds: 90s, 10m, 1h.")
    ] = "1h",
    server: Server = DEFAULT_SERVER,
) -> None:
    """Print a token with which one agent may join, once, for this one site, and say what to type there.

    The token is printed here and kept nowhere. Hand it over as you would a password.
    """
    lane = lane_of(path)
    with reach(server) as client:
        try:
            client.resource(path)
        except NotFound:
            note(f"there is no site {path} yet; make it: stead cloudlet create {path.removeprefix('/')}")
        try:
            made = client.invite_agent(name or agent_of(path), [lane], seconds(lasting))
        except ProblemError as error:
            if error.problem.code != "no-identities":
                raise
            fail(
                f"{error.problem.detail}; nobody needs a token here. On the site:\n"
                f"  stead agent run --nats URL --cell CELL --lane {lane} --name {agent_of(path)} {DRIVER}",
                Code.REFUSED,
            )
    note(f"{made.name} may join until {clock(made.expires_at)}, for {path}. On the site:")
    note(f"  stead agent join --server {server} --token TOKEN --identity {made.name}")
    note(f"  stead agent run --identity {made.name} {DRIVER}")
    note("The token, which is shown only now:")
    line(made.token)


DRIVER = "--driver process --set root=/var/lib/stead"
"""What an agent is told that makes clusters and apps on its own machine."""


def agent_of(path: str) -> str:
    """The name of a site's agent."""
    return "-".join(path.split("/")[1:3])


@app.command(
    short_help="Replace a site's agent by one of another version.",
    epilog="Example: stead cloudlet upgrade lab/berlin --to 1.2.0 --timeout 1h",
)
def upgrade(
    path: CloudletPath,
    to: Annotated[str, typer.Option("--to", metavar="VERSION", help="The version that it is to have.")],
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Have a site's agent start one of another version, which takes its place. Until then nothing changes there."""
    how = How(output, wait, timeout, dry_run, key)
    wishes = {"spec": {"version": to}, "reason": reason, "on_conflict": on_conflict(queue)}
    change(server, path, "upgrade", how, kind=KIND, **wishes)


@app.command(
    short_help="Declare a failed upgrade dealt with.",
    epilog='Example: stead cloudlet resolve lab/berlin --reason "the disk was full"',
)
def resolve(
    path: CloudletPath,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it stays with the operation.")],
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Say that a failed upgrade is dealt with: what is on the site may be changed again. It is for admins."""
    change(server, path, "resolve", How(output, True, None, dry_run, key), kind=KIND, reason=reason)


@app.command(
    short_help="Forget a site whose agent will not come back.",
    epilog='Example: stead cloudlet forget lab/berlin --reason "the machine burnt down"',
)
def forget(
    path: CloudletPath,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the journal.")],
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Remove the records of a site whose agent will not come back, and of all that is on it. It is for admins.

    Nothing is changed on the site: what may run there is listed as orphans of its lane. The name is free afterwards.
    An agent that comes back for the site is told that it was forgotten, and ends.
    """
    change(server, path, "forget", How(output, wait, timeout, dry_run, key), kind=KIND, reason=reason)
    if wait and not dry_run:
        _tell_left_behind(server, lane_of(path))


def _tell_left_behind(server: str, lane: str) -> None:
    """Write what may run on at a site that was forgotten."""
    with reach(server) as client:
        left = client.orphans(lane=lane).items
    for orphan in left:
        note(f"left behind: {orphan.facts.get('kind', 'object')} {orphan.path}, {orphan.state}")
    if left:
        note(f"what may run on there is listed: stead orphan list --lane {lane}")


add_verb(app, KIND, CloudletPath, "delete", "Delete a site on which nothing is left.", "lab/berlin", forceable=False)
add_list(app, KIND, SITES, "Sites", "stead cloudlet list lab --watch")
add_show(
    app,
    KIND,
    CloudletPath,
    "A site, as it is or as it was.",
    "A site: its state and since when, its agent, and what that can make.",
    "stead cloudlet show lab/berlin -o yaml",
)
