"""The commands that run the processes of a cell: `stead server`, `controller`, `agent` and `sim-cloud`.

What a process is made of is imported when it is run: all other commands start without it.
"""

from __future__ import annotations

import socket
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stead.cli.documents import NotYaml, read_yaml
from stead.cli.durations import days, duration
from stead.cli.output import Code, fail
from stead.cli.processes.options import Retention
from stead.cli.spec_options import read_text
from stead.cli.webhooks import prefixes

if TYPE_CHECKING:
    from stead.cli.processes.running import Metrics
    from stead.pki.identity import Identity

Nats = Annotated[
    str, typer.Option("--nats", envvar="STEAD_NATS", help="Where the bus is; its servers, with commas between.")
]
Copies = Annotated[
    int,
    typer.Option(
        "--bus-replicas", min=1, max=5, envvar="STEAD_BUS_REPLICAS", help="Servers of the bus that keep each message."
    ),
]
Cell = Annotated[str, typer.Option("--cell", envvar="STEAD_CELL", help="The name of the cell.")]
Database = Annotated[
    str, typer.Option("--database", envvar="STEAD_DATABASE", help="PostgreSQL, as postgresql://user@host/name.")
]
Open = Annotated[
    bool,
    typer.Option("--open", envvar="STEAD_OPEN", help="Ask nobody who they are. Only on a loopback address."),
]
IssuerUrl = Annotated[
    str | None,
    typer.Option(
        "--issuer", envvar="STEAD_ISSUER", metavar="URL", help="The OpenID Connect issuer that people log in with."
    ),
]
ClientId = Annotated[
    str, typer.Option("--client", envvar="STEAD_CLIENT", help="The id under which the issuer knows this server.")
]
NameClaim = Annotated[
    str, typer.Option("--name-claim", envvar="STEAD_NAME_CLAIM", help="The claim that is the name of a person.")
]
GroupsClaim = Annotated[
    str, typer.Option("--groups-claim", envvar="STEAD_GROUPS_CLAIM", help="The claim with the groups of a person.")
]
PolicyFolder = Annotated[
    Path | None,
    typer.Option(
        "--policies",
        envvar="STEAD_POLICIES",
        help="A folder of policies, NAME.cedar, that are in force beside the others.",
    ),
]
Slower = Annotated[
    float,
    typer.Option(
        "--pace",
        min=0.05,
        max=20,
        envvar="STEAD_PACE",
        help="All waits of the protocol (custody, resends, looks), as a multiple of the usual; the same for all.",
    ),
]
Who = Annotated[
    Path | None,
    typer.Option(
        "--identity",
        envvar="STEAD_IDENTITY",
        help="The folder of its identity, which also says where the bus is; without one, the bus lets everybody in.",
    ),
]
Lifetime = Annotated[
    str,
    typer.Option(
        "--agent-lifetime",
        envvar="STEAD_AGENT_LIFETIME",
        callback=duration,
        help="How long what an agent connects with holds; it is renewed at half of that.",
    ),
]

Leaves = Annotated[
    bool,
    typer.Option(
        "--leaf-nodes",
        envvar="STEAD_LEAF_NODES",
        help="Agents of sites may be behind leaf nodes; what they connect with then lets them answer anywhere.",
    ),
]
Webhooks = Annotated[
    list[str] | None,
    typer.Option(
        "--webhooks",
        envvar="STEAD_WEBHOOKS",
        metavar="PREFIX",
        callback=prefixes,
        help="How addresses begin at which owners of leases may have something told, such as https://hooks.example/. "
        "May be repeated; without it, there are none.",
    ),
]
Kept = Annotated[
    str,
    typer.Option(
        "--keep-ended",
        envvar="STEAD_KEEP_ENDED",
        callback=days,
        help="How long operations that have ended can be asked for, and a request be repeated under its key; "
        "at least a day. The journal is not touched.",
    ),
]
MetricsPort = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        envvar="STEAD_METRICS_PORT",
        min=1,
        max=65535,
        help="Tell metrics on a port of their own, at /metrics. Without it, they are not told.",
    ),
]
MetricsHost = Annotated[
    str,
    typer.Option(
        "--metrics-host",
        envvar="STEAD_METRICS_HOST",
        help="The address of that port. Whoever reaches it is told, and is not asked who they are.",
    ),
]


class Lines(StrEnum):
    """How lines of the log are written."""

    TEXT = "text"
    JSON = "json"


Log = Annotated[
    Lines,
    typer.Option("--log", envvar="STEAD_LOG_FORMAT", help="Lines of the log for people, or for programs as JSON."),
]


def _log(part: str, form: Lines) -> None:
    """To stderr, without anything that is known to be secret; and traces to whoever collects them."""
    from stead.telemetry import logs, tracing

    logs.begin(part, form)
    tracing.begin(part)


def unlocked(context: typer.Context, dsn: str) -> str:
    """An address without its password, which goes on by the environment. On a command line there is none."""
    from stead.secrets.address import parted, without_password

    source = context.get_parameter_source("database")
    if source is not None and source.name == "COMMANDLINE" and parted(dsn)[1]:
        says = "a command line is read by others: give the password by PGPASSWORD, PGPASSFILE or STEAD_DATABASE"
        raise typer.BadParameter(says, param_hint="--database")
    return without_password(dsn)


def server(
    context: typer.Context,
    database: Database,
    nats: Nats = "nats://127.0.0.1:4222",
    cell: Cell = "main",
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on.")] = 7770,
    pace: Slower = 1.0,
    open: Open = False,
    issuer: IssuerUrl = None,
    client: ClientId = "stead",
    name_claim: NameClaim = "sub",
    groups_claim: GroupsClaim = "groups",
    policies: PolicyFolder = None,
    identity: Who = None,
    lifetime: Lifetime = "30d",
    leaves: Leaves = False,
    webhooks: Webhooks = None,
    replicas: Copies = 1,
    kept: Kept = "90d",
    retention: Retention = "7d",
    rate: Annotated[
        list[str] | None,
        typer.Option(
            "--rate",
            envvar="STEAD_RATE",
            metavar="NAME=NUMBER",
            help="Requests a second that are taken, 0 for no limit; of each caller `changes` (200) and "
            "`reads` (500), in each namespace `namespace-changes` (1000) and `namespace-reads` (2500), of each "
            "address `unknown` (50), which show a token that is none.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", envvar="STEAD_TLS_CERT", help="Its certificate, to speak HTTPS.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", envvar="STEAD_TLS_KEY", help="The certificate's key.")
    ] = None,
    behind_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--behind-proxy",
            envvar="STEAD_BEHIND_PROXY",
            metavar="CIDR",
            help="Network of the proxies that end TLS before the server, such as 10.0.0.5/32; repeatable. The server "
            "then listens without a certificate, and takes scheme and client address from the headers "
            "X-Forwarded-Proto and X-Forwarded-For of these proxies.",
        ),
    ] = None,
    log: Log = Lines.TEXT,
) -> None:
    """Run the HTTP interface, and a controller beside it. Any number may run on one database and one bus.

    Whoever asks shows who they are: with a token (`stead token create`), or by a login at the issuer.
    """
    from stead.build import MigrationFailed
    from stead.cli import server_auth
    from stead.cli.processes import server as process
    from stead.cli.processes.place import Place

    server_auth.check_address(host, tls=tls_cert is not None, behind_proxy=bool(behind_proxy))
    proxies = server_auth.networks(behind_proxy or [])
    entry = server_auth.entry(host, open, issuer, client, name_claim, groups_claim, policies)
    _log("server", log)
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("a certificate and its key are given together", param_hint="--tls-cert")
    _described(identity)
    try:
        listening = process.Listening(host, port, _rates(rate or []), tls_cert, tls_key, proxies)
    except ValueError as error:
        fail(str(error), Code.USAGE)
    where = (unlocked(context, database), nats, cell)
    place = Place(*where, pace, identity, lifetime, leaves, webhooks or (), replicas, kept, retention)
    try:
        process.run(place, listening, entry)
    except MigrationFailed as error:
        fail(str(error))


def controller(
    context: typer.Context,
    database: Database,
    nats: Nats = "nats://127.0.0.1:4222",
    cell: Cell = "main",
    pace: Slower = 1.0,
    identity: Who = None,
    lifetime: Lifetime = "30d",
    leaves: Leaves = False,
    webhooks: Webhooks = None,
    replicas: Copies = 1,
    kept: Kept = "90d",
    retention: Retention = "7d",
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = "127.0.0.1",
    log: Log = Lines.TEXT,
) -> None:
    """Run one more controller, without an HTTP interface: it carries on what others let in."""
    from stead.build import MigrationFailed
    from stead.cli.processes import controller as process
    from stead.cli.processes.place import Place
    from stead.cli.processes.running import PortTaken

    _log("controller", log)
    _described(identity)
    where = (unlocked(context, database), nats, cell)
    place = Place(*where, pace, identity, lifetime, leaves, webhooks or (), replicas, kept, retention)
    try:
        process.run(place, _metrics(metrics_host, metrics_port))
    except (PortTaken, MigrationFailed) as error:
        fail(str(error))


def _metrics(host: str, port: int | None) -> Metrics | None:
    from stead.cli.processes.running import Metrics

    return None if port is None else Metrics(host, port)


def _described(folder: Path | None) -> Identity | None:
    """The identity in a folder; the command ends where there is none."""
    from stead.pki.identity import Identity, NoIdentity

    try:
        return Identity(folder) if folder is not None else None
    except NoIdentity as error:
        fail(str(error), Code.USAGE)


def agent(
    lane: Annotated[
        list[str] | None,
        typer.Option(
            "--lane",
            help="A lane to serve, such as aws.us-east-1; may be repeated. By default, those of its identity.",
        ),
    ] = None,
    driver: Annotated[str, typer.Option("--driver", help="The driver that serves the lanes.")] = "sim",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the driver, as name=value; may be repeated.")
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option("--settings", help="A YAML file of the driver's settings; `--set` goes before it."),
    ] = None,
    secrets_key: Annotated[
        Path | None,
        typer.Option(
            "--secrets-key", envvar="STEAD_SECRETS_KEY", help="The file of the key that opens sealed secrets."
        ),
    ] = None,
    nats: Nats = "nats://127.0.0.1:4222",
    cell: Cell = "main",
    name: Annotated[str, typer.Option("--name", help="The agent's name; the host's by default.")] = "",
    identity: Who = None,
    domain: Annotated[
        str | None,
        typer.Option(
            "--domain",
            envvar="STEAD_DOMAIN",
            help="JetStream's domain at the cell, where a leaf node with a JetStream of its own is in between.",
        ),
    ] = None,
    leaf: Annotated[
        str | None,
        typer.Option(
            "--leaf",
            envvar="STEAD_LEAF",
            metavar="URL",
            help="A leaf node of the site's own, which has connected to the bus with the agent's identity.",
        ),
    ] = None,
    versions: Annotated[
        Path | None,
        typer.Option(
            "--versions",
            help="A folder with programs of agents, VERSION/bin/stead: a site's agent can be upgraded to these.",
        ),
    ] = None,
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = "127.0.0.1",
    log: Log = Lines.TEXT,
    succeeds: Annotated[int, typer.Option("--succeeds", metavar="PID", hidden=True)] = 0,
) -> None:
    """Run an agent: it pulls orders from its lanes and carries them out.

    One that serves a site ends where it cannot be said what the site has; whoever sees to it starts it anew. When a
    newer run of the same name serves one of its lanes, the older one ends with exit code 3.
    """
    from stead.cli.processes import agent as process
    from stead.cli.processes.running import PortTaken

    _log("agent", log)
    known = _described(identity)
    lanes = lane or (known.description.lanes if known is not None else [])
    if not lanes:
        raise typer.BadParameter("an agent serves at least one", param_hint="--lane")
    if known is not None and (others := sorted(set(lanes) - set(known.description.lanes))):
        raise typer.BadParameter(f"{known.name} may not serve {', '.join(others)}", param_hint="--lane")
    if known is None and leaf is not None:
        raise typer.BadParameter("without an identity it is named by --nats", param_hint="--leaf")
    said = {**_from_file(settings), **dict(map(_pair, setting or []))}
    if secrets_key is not None:
        said["secrets_key"] = str(secrets_key)
    try:
        process.run(
            nats,
            cell,
            name or socket.gethostname(),
            lanes,
            driver,
            said,
            known,
            domain=domain,
            leaf=leaf,
            versions=versions,
            succeeds=succeeds,
            metrics=_metrics(metrics_host, metrics_port),
        )
    except PortTaken as error:
        fail(str(error))
    except (process.InvalidSettings, process.UnknownCell) as error:
        fail(str(error), Code.USAGE)
    except (process.SupersededRun, process.SiteForgotten) as error:
        fail(str(error), Code.REFUSED)
    except process.SiteStateUnavailable as error:
        fail(f"nobody can say what the site has: {error}")


def _rates(words: list[str]) -> dict[str, float]:
    said = {}
    for word in words:
        name, _, number = word.partition("=")
        try:
            said[name] = float(number)
        except ValueError:
            raise typer.BadParameter(f"{word} is not NAME=NUMBER", param_hint="--rate") from None
    return said


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        # What it was is not repeated: it may be a secret that stands at the wrong place.
        raise typer.BadParameter("a setting is given as name=value", param_hint="--set")
    return name, value


def _from_file(file: Path | None) -> dict[str, Any]:
    """The settings in a file, in which nothing stands below a name but its value."""
    if file is None:
        return {}
    try:
        said = read_yaml(read_text(str(file))) or {}
    except NotYaml as error:
        # What is wrong is not repeated: a secret may stand there that should not.
        fail(f"{file} is not YAML{f', see line {error.line}' if error.line else ''}", Code.USAGE)
    if not isinstance(said, dict):
        fail(f"{file} has no settings: names with values are", Code.USAGE)
    for name, value in said.items():
        if isinstance(value, dict | list):
            fail(f"{file}: {name} is no single value", Code.USAGE)
    return {str(name): value for name, value in said.items()}


def sim_cloud(
    data: Annotated[Path, typer.Option("--data", help="The folder of its ledger.")],
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on; 0 for a free one.")] = 7780,
) -> None:
    """Run a simulated cloud, whose every provider and region can be made to fail."""
    from stead.agent import simcloud

    simcloud.serve(host, port, data)
