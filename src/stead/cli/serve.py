"""The commands that run the processes of a cell: `stead server`, `controller`, `agent run` and `sim-cloud`.

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

Nats = Annotated[str, typer.Option("--nats", envvar="STEAD_NATS", help="Addresses of the bus, separated by commas.")]
Copies = Annotated[
    int,
    typer.Option(
        "--bus-replicas", min=1, max=5, envvar="STEAD_BUS_REPLICAS", help="Servers of the bus that keep each message."
    ),
]
Cell = Annotated[str, typer.Option("--cell", envvar="STEAD_CELL", help="Name of the cell.")]
Database = Annotated[
    str,
    typer.Option(
        "--database", envvar="STEAD_DATABASE", help="Address of PostgreSQL, as postgresql://user@host/name."
    ),
]
Open = Annotated[
    bool,
    typer.Option("--open", envvar="STEAD_OPEN", help="Access without authentication, only on a loopback address."),
]
IssuerUrl = Annotated[
    str | None,
    typer.Option("--issuer", envvar="STEAD_ISSUER", metavar="URL", help="OpenID Connect issuer for logins."),
]
ClientId = Annotated[
    str, typer.Option("--client", envvar="STEAD_CLIENT", help="Client id of this server at the issuer.")
]
NameClaim = Annotated[
    str, typer.Option("--name-claim", envvar="STEAD_NAME_CLAIM", help="Claim with the name of a user.")
]
GroupsClaim = Annotated[
    str, typer.Option("--groups-claim", envvar="STEAD_GROUPS_CLAIM", help="Claim with the groups of a user.")
]
PolicyFolder = Annotated[
    Path | None,
    typer.Option(
        "--policies",
        envvar="STEAD_POLICIES",
        help="Folder of policies, NAME.cedar, in force beside the others.",
    ),
]
Slower = Annotated[
    float,
    typer.Option(
        "--pace",
        min=0.05,
        max=20,
        envvar="STEAD_PACE",
        help="Factor for all timings of the protocol (custody, resends, observations); equal in all processes.",
    ),
]
Who = Annotated[
    Path | None,
    typer.Option(
        "--identity",
        envvar="STEAD_IDENTITY",
        help="Folder of its identity, with addresses of the bus; default none, for a bus without authentication.",
    ),
]
Lifetime = Annotated[
    str,
    typer.Option(
        "--agent-lifetime",
        envvar="STEAD_AGENT_LIFETIME",
        callback=duration,
        help="Lifetime of agent credentials; renewed at half-life.",
    ),
]

Leaves = Annotated[
    bool,
    typer.Option(
        "--leaf-nodes",
        envvar="STEAD_LEAF_NODES",
        help="Credentials for agents behind leaf nodes, which may answer to any subject.",
    ),
]
Webhooks = Annotated[
    list[str] | None,
    typer.Option(
        "--webhooks",
        envvar="STEAD_WEBHOOKS",
        metavar="PREFIX",
        callback=prefixes,
        help="Allowed URL prefix for lease webhooks, such as https://hooks.example/. Repeatable; default none.",
    ),
]
Kept = Annotated[
    str,
    typer.Option(
        "--keep-ended",
        envvar="STEAD_KEEP_ENDED",
        callback=days,
        help="Retention of ended operations and idempotency keys, at least 1d. The journal is kept.",
    ),
]
MetricsPort = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        envvar="STEAD_METRICS_PORT",
        min=1,
        max=65535,
        help="Port of the metrics, at /metrics; default none.",
    ),
]
MetricsHost = Annotated[
    str,
    typer.Option(
        "--metrics-host",
        envvar="STEAD_METRICS_HOST",
        help="Address of the metrics, which need no authentication.",
    ),
]


class Lines(StrEnum):
    """How lines of the log are written."""

    TEXT = "text"
    JSON = "json"


Log = Annotated[
    Lines,
    typer.Option("--log", envvar="STEAD_LOG_FORMAT", help="Format of log lines."),
]


def _log(part: str, form: Lines) -> None:
    """Log to stderr, without known secrets, and export traces to their collector."""
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
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on.")] = 7770,
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
            help="Rate limit in requests a second, 0 for none: for each caller `changes` (200) and `reads` (500), "
            "for each namespace `namespace-changes` (1000) and `namespace-reads` (2500), for each address with an "
            "invalid token `unknown` (50). Repeatable.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option("--tls-cert", envvar="STEAD_TLS_CERT", help="File of the server's certificate, for HTTPS."),
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", envvar="STEAD_TLS_KEY", help="File of the key of the certificate.")
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
    """Run a server: the HTTP interface and a controller.

    Any number of servers may run on one database and one bus. Callers authenticate with a token
    (`stead token create`), or by a login at the issuer.
    """
    from stead.build import MigrationFailed
    from stead.cli import server_auth
    from stead.cli.processes import server as process
    from stead.cli.processes.place import Place

    server_auth.check_address(host, tls=tls_cert is not None, behind_proxy=bool(behind_proxy))
    proxies = server_auth.networks(behind_proxy or [])
    entry = server_auth.authenticator(host, open, issuer, client, name_claim, groups_claim, policies)
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
    """Run a controller without an HTTP interface."""
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
    driver: Annotated[str, typer.Option("--driver", help="Driver that serves the lanes.")] = "sim",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Setting of the driver, as name=value. Repeatable.")
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option("--settings", help="YAML file of the driver's settings; --set overrides it."),
    ] = None,
    secrets_key: Annotated[
        Path | None,
        typer.Option("--secrets-key", envvar="STEAD_SECRETS_KEY", help="File of the key for sealed secrets."),
    ] = None,
    nats: Nats = "nats://127.0.0.1:4222",
    cell: Cell = "main",
    name: Annotated[str, typer.Option("--name", help="Name of the agent; default the host's name.")] = "",
    identity: Who = None,
    domain: Annotated[
        str | None,
        typer.Option(
            "--domain",
            envvar="STEAD_DOMAIN",
            help="JetStream domain of the cell, for an agent behind a leaf node with a JetStream of its own.",
        ),
    ] = None,
    leaf: Annotated[
        str | None,
        typer.Option(
            "--leaf",
            envvar="STEAD_LEAF",
            metavar="URL",
            help="URL of the site's leaf node, which connects to the bus with the agent's identity.",
        ),
    ] = None,
    versions: Annotated[
        Path | None,
        typer.Option(
            "--versions",
            help="Folder of agent programs, VERSION/bin/stead, that a site's agent can be upgraded to.",
        ),
    ] = None,
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = "127.0.0.1",
    log: Log = Lines.TEXT,
    succeeds: Annotated[int, typer.Option("--succeeds", metavar="PID", hidden=True)] = 0,
) -> None:
    """Run an agent: it pulls orders from its lanes and executes them.

    An agent of a site ends where it cannot read the state of the site; a service manager restarts it. When a newer
    run of the same name serves one of its lanes, the older run ends with exit code 3.
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
        fail(str(error), Code.REJECTED)
    except process.SiteStateUnavailable as error:
        fail(f"the state of the site is not readable: {error}")


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
    data: Annotated[Path, typer.Option("--data", help="Folder of its data.")],
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 for a free one.")] = 7780,
) -> None:
    """Run a simulated cloud, whose regions can be made to fail."""
    from stead.agent import simcloud

    simcloud.serve(host, port, data)
