"""Every command of `stead`, in the order in which help lists them."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """What is known of a command before it is imported."""

    where: str
    """Its module and its name there: a function, or a group of commands."""
    says: str
    example: str = ""
    """Of a function; the commands of a group have their own."""


COMMANDS = {
    "dev": Entry("dev:dev", "Run everything on this machine, to try it.", "stead dev --keep"),
    "doctor": Entry(
        "doctor:doctor", "What is missing for that, or wrong; or how a running cell is.", "stead doctor --running"
    ),
    "support-bundle": Entry(
        "support_bundle:support_bundle",
        "All that somebody needs who is to help, in one file.",
        "stead support-bundle --to bundle.tar.gz --log server.log",
    ),
    "bin": Entry("bin:bin_", "What lies in the recycle bin, and until when.", "stead bin acme/space"),
    "stuck": Entry("stuck:stuck", "What does not come to its end, and why.", "stead stuck --below shop --lately 12h"),
    "explain": Entry(
        "explain:explain", "Whether an action would be let in, and why.", "stead explain shop/web/front/1 reboot"
    ),
    "login": Entry("login:login", "Log in to a server.", "stead login --server https://stead.example"),
    "logout": Entry("login:logout", "Forget a login.", "stead logout"),
    "whoami": Entry("login:whoami", "Who one is to a server, and what one may.", "stead whoami"),
    "server": Entry(
        "serve:server",
        "Run a controller and its HTTP interface.",
        "stead server --database postgresql://postgres@127.0.0.1/stead",
    ),
    "controller": Entry(
        "serve:controller",
        "Run one more controller.",
        "stead controller --database postgresql://postgres@127.0.0.1/stead",
    ),
    "sim-cloud": Entry("serve:sim_cloud", "Run a simulated cloud.", "stead sim-cloud --data cloud"),
    "mci": Entry("mci:app", "Infrastructures of VMs over many clouds."),
    "subgroup": Entry("subgroup:app", "VMs of an infrastructure that are alike."),
    "vm": Entry("vm:app", "Make virtual machines, look at them, change them."),
    "network": Entry("shared_resources:network", "Networks of VMs."),
    "securitygroup": Entry("shared_resources:securitygroup", "What traffic is let through to VMs."),
    "sshkey": Entry("shared_resources:sshkey", "Public keys that VMs let in."),
    "cloudlet": Entry("cloudlet:app", "Edge sites, each with an agent of its own."),
    "cluster": Entry("cluster:app", "Clusters at edge sites."),
    "app": Entry("app:app", "Apps at edge sites."),
    "account": Entry("account:app", "Who owns cloudspaces of the private cloud."),
    "cloudspace": Entry("cloudspace:app", "Private networks in which an account's machines live."),
    "machine": Entry("machine:app", "Machines on the nodes of the private cloud."),
    "disk": Entry("disk:app", "Disks of machines, and those that lie by themselves."),
    "image": Entry("image:app", "What the first disks of machines are made from."),
    "node": Entry("node:app", "The hosts that machines of the private cloud run on."),
    "system": Entry("system:app", "Trees of services, deployed path by path."),
    "service": Entry("service:service", "Services of systems."),
    "job": Entry("service:job", "Jobs of systems."),
    "lease": Entry("lease:app", "Hosts booked for a time."),
    "host": Entry("host:app", "Machines that leases can have."),
    "resource": Entry("resource:app", "Resources of any kind, also of your own."),
    "operation": Entry("operation:app", "What was asked for, and what became of it."),
    "queue": Entry("queue:app", "Where operations wait their turn."),
    "quota": Entry("quota:app", "How much accounts and cloudspaces may have."),
    "scaling": Entry("scaling:app", "Policies that follow demand."),
    "journal": Entry("journal:app", "Every move and every refusal; is it as it was written?"),
    "claim": Entry("claim:app", "Who may change what now."),
    "orphan": Entry("orphan:app", "What providers have that nobody owns."),
    "lane": Entry("lane:app", "The ways to providers, and who serves them."),
    "token": Entry("token:app", "Tokens for programs."),
    "role": Entry("roles:app", "Which roles people and groups have."),
    "secret": Entry("secret:app", "Seal secrets for agents."),
    "agent": Entry("agent:app", "Run agents, and say who may be one."),
    "pki": Entry("pki:app", "Keys and certificates of a bus that lets in whom it knows."),
    "backup": Entry("backup:app", "The whole cell in a file, and back."),
    "install": Entry("install:install", "Run Stead on this machine.", "stead install --dry-run"),
    "lifecycle": Entry("lifecycle:app", "Look at lifecycles, check them, explore them, draw them."),
    "policy": Entry("policy:app", "What callers may do beyond their roles."),
}
