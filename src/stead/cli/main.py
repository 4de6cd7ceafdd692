"""The command `stead`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from stead import __version__
from stead.cli import (
    account,
    claim,
    cloudlet,
    cloudspace,
    cluster,
    dev,
    disk,
    doctor,
    explain,
    host,
    image,
    journal,
    lane,
    lease,
    login,
    machine,
    mci,
    node,
    operation,
    orphan,
    queue,
    quota,
    resource,
    roles,
    scaling,
    secret,
    serve,
    service,
    shared,
    stuck,
    subgroup,
    support,
    system,
    token,
    vm,
)
from stead.cli import app as apps
from stead.cli import bin as recycle_bin
from stead.cli.late import Late
from stead.cli.remote import CA

app = typer.Typer(
    name="stead",
    cls=Late,
    no_args_is_help=True,
    # Plain help and errors: they read well in a pipe, in a log and aloud.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A lifecycle control plane: what you run comes back to a steady state, and says why when it does not.",
)
app.command("dev", short_help="Run everything on this machine, to try it.", epilog="Example: stead dev --keep")(
    dev.dev
)
app.command(
    "doctor",
    short_help="What is missing for that, or wrong; or how a running cell is.",
    epilog="Example: stead doctor --running",
)(doctor.doctor)
app.command(
    "support-bundle",
    short_help="All that somebody needs who is to help, in one file.",
    epilog="Example: stead support-bundle --to bundle.tar.gz --log server.log",
)(support.support_bundle)
app.add_typer(mci.app, name="mci", short_help="Infrastructures of VMs over many clouds.")
app.add_typer(subgroup.app, name="subgroup", short_help="VMs of an infrastructure that are alike.")
app.add_typer(vm.app, name="vm", short_help="Make virtual machines, look at them, change them.")
for _kind, (_says, _) in shared.KINDS.items():
    app.add_typer(shared.commands(_kind), name=_kind, short_help=_says)
app.add_typer(cloudlet.app, name="cloudlet", short_help="Edge sites, each with an agent of its own.")
app.add_typer(cluster.app, name="cluster", short_help="Clusters at edge sites.")
app.add_typer(apps.app, name="app", short_help="Apps at edge sites.")
app.add_typer(account.app, name="account", short_help="Who owns cloudspaces of the private cloud.")
app.add_typer(cloudspace.app, name="cloudspace", short_help="Private networks in which an account's machines live.")
app.add_typer(machine.app, name="machine", short_help="Machines on the nodes of the private cloud.")
app.add_typer(disk.app, name="disk", short_help="Disks of machines, and those that lie by themselves.")
app.add_typer(image.app, name="image", short_help="What the first disks of machines are made from.")
app.add_typer(node.app, name="node", short_help="The hosts that machines of the private cloud run on.")
app.add_typer(system.app, name="system", short_help="Trees of services, deployed path by path.")
app.add_typer(service.service, name="service", short_help="Services of systems.")
app.add_typer(service.job, name="job", short_help="Jobs of systems.")
app.add_typer(lease.app, name="lease", short_help="Hosts booked for a time.")
app.add_typer(host.app, name="host", short_help="Machines that leases can have.")
app.add_typer(resource.app, name="resource", short_help="Resources of any kind, also of your own.")
app.command(
    "bin", short_help="What lies in the recycle bin, and until when.", epilog="Example: stead bin acme/space"
)(recycle_bin.bin_)
app.add_typer(operation.app, name="operation", short_help="What was asked for, and what became of it.")
app.add_typer(queue.app, name="queue", short_help="Where operations wait their turn.")
app.add_typer(quota.app, name="quota", short_help="How much accounts and cloudspaces may have.")
app.add_typer(scaling.app, name="scaling", short_help="Policies that follow demand.")
app.add_typer(journal.app, name="journal", short_help="Every move and every refusal; is it as it was written?")
app.command(
    "stuck",
    short_help="What does not come to its end, and why.",
    epilog="Example: stead stuck --below shop --lately 12h",
)(stuck.stuck)
app.add_typer(claim.app, name="claim", short_help="Who may change what now.")
app.command(
    "explain",
    short_help="Whether an action would be let in, and why.",
    epilog="Example: stead explain shop/web/front/1 reboot",
)(explain.explain)
app.add_typer(orphan.app, name="orphan", short_help="What providers have that nobody owns.")
app.add_typer(lane.app, name="lane", short_help="The ways to providers, and who serves them.")
app.command("login", short_help="Log in to a server.", epilog="Example: stead login --server https://stead.example")(
    login.login
)
app.command("logout", short_help="Forget a login.", epilog="Example: stead logout")(login.logout)
app.command("whoami", short_help="Who one is to a server, and what one may.", epilog="Example: stead whoami")(
    login.whoami
)
app.add_typer(token.app, name="token", short_help="Tokens for programs.")
app.add_typer(roles.app, name="role", short_help="Which roles people and groups have.")
app.add_typer(secret.app, name="secret", short_help="Seal secrets for agents.")
app.command(
    "server",
    short_help="Run a controller and its HTTP interface.",
    epilog="Example: stead server --database postgresql://postgres@127.0.0.1/stead",
)(serve.server)
app.command(
    "controller",
    short_help="Run one more controller.",
    epilog="Example: stead controller --database postgresql://postgres@127.0.0.1/stead",
)(serve.controller)
app.command("sim-cloud", short_help="Run a simulated cloud.", epilog="Example: stead sim-cloud --data cloud")(
    serve.sim_cloud
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"stead {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    ca: Annotated[
        str,
        typer.Option(
            "--ca",
            envvar=CA,
            metavar="FILE",
            help="Certificates of authorities to trust, where none that the world knows has signed the server's.",
        ),
    ] = "",
) -> None:
    """A lifecycle control plane: what you run comes back to a steady state, and says why when it does not."""
    if ca:
        os.environ[CA] = ca
