"""Every command of `stead`, in the order and the sections in which help lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Entry(NamedTuple):
    """What is known of a command before it is imported."""

    where: str
    """Its module and its name there: a function, or a group of commands."""
    summary: str
    """What help says of it; of a function, the first line of its docstring."""
    example: str = ""
    """Of a function; the commands of a group have their own."""


DATABASE = "--database postgresql://postgres@127.0.0.1/stead"

SECTIONS: Mapping[str, Mapping[str, Entry]] = {
    "Start here": {
        "dev": Entry("dev:dev", "Run a whole cell on this machine until Ctrl-C.", "stead dev --keep"),
        "doctor": Entry(
            "doctor:doctor",
            "Check this machine's prerequisites, or the health of a running cell.",
            "stead doctor --running",
        ),
        "explain": Entry(
            "explain:explain",
            "Show whether an action would be accepted, and why.",
            "stead explain shop/web/front/1 reboot",
        ),
        "stuck": Entry(
            "stuck:stuck",
            "List operations past their usual time or timeout, or without progress.",
            "stead stuck --below shop --recent 12h",
        ),
    },
    "Infrastructures": {
        "mci": Entry("mci:app", "Manage infrastructures of VMs over several providers."),
        "subgroup": Entry("subgroup:app", "Manage groups of VMs that share one spec."),
        "vm": Entry("vm:app", "Manage VMs."),
        "network": Entry("shared_resources:network", "Manage networks of VMs."),
        "securitygroup": Entry("shared_resources:securitygroup", "Manage firewall rules of VMs."),
        "sshkey": Entry("shared_resources:sshkey", "Manage public keys that VMs accept."),
        "orphan": Entry("orphan:app", "Adopt or remove objects at providers that no resource stands for."),
    },
    "Edge": {
        "cloudlet": Entry("cloudlet:app", "Manage edge sites, each with an agent of its own."),
        "cluster": Entry("cluster:app", "Manage clusters at edge sites."),
        "app": Entry("app:app", "Manage apps at edge sites."),
        "scaling": Entry("scaling:app", "Manage policies that scale apps and clusters by demand."),
    },
    "Private cloud": {
        "account": Entry("account:app", "Manage owners of cloudspaces."),
        "cloudspace": Entry("cloudspace:app", "Manage private networks of machines."),
        "machine": Entry("machine:app", "Manage machines."),
        "disk": Entry("disk:app", "Manage disks of machines."),
        "image": Entry("image:app", "Manage images for the first disks of machines."),
        "node": Entry("node:app", "Manage hosts that machines run on."),
        "bin": Entry(
            "bin:bin_",
            "List the recycle bin, with the time at which each resource is destroyed.",
            "stead bin acme/space",
        ),
        "quota": Entry("quota:app", "Show and set limits of accounts, cloudspaces and namespaces."),
    },
    "Leases": {
        "lease": Entry("lease:app", "Book hosts for a time."),
        "host": Entry("host:app", "Manage hosts that leases book."),
    },
    "Systems": {
        "system": Entry("system:app", "Deploy trees of services, path by path."),
        "service": Entry("service:service", "Show services of systems."),
        "job": Entry("service:job", "Run and show jobs of systems."),
    },
    "Operate": {
        "resource": Entry("resource:app", "Manage resources of any kind, registered ones included."),
        "operation": Entry("operation:app", "List, follow, cancel and retry operations."),
        "queue": Entry("queue:app", "Manage queues of operations."),
        "claim": Entry("claim:app", "List the rights of operations to change paths."),
        "journal": Entry("journal:app", "Show, verify, export and archive the journal."),
        "lifecycle": Entry("lifecycle:app", "Show, check, explore, draw and register lifecycles."),
        "lane": Entry("lane:app", "Manage lanes: the work queues of provider regions and sites."),
        "agent": Entry("agent:app", "Run agents, and manage their identities."),
        "backup": Entry("backup:app", "Back up and restore a cell."),
        "support-bundle": Entry(
            "support_bundle:support_bundle",
            "Collect diagnostics into one archive, without secrets (admins only).",
            "stead support-bundle --to bundle.tar.gz --log server.log",
        ),
        "install": Entry(
            "install:install", "Install Stead on this machine, as systemd services.", "stead install --dry-run"
        ),
        "server": Entry(
            "serve:server", "Run a server: the HTTP interface and a controller.", f"stead server {DATABASE}"
        ),
        "controller": Entry(
            "serve:controller", "Run a controller without an HTTP interface.", f"stead controller {DATABASE}"
        ),
        "sim-cloud": Entry(
            "serve:sim_cloud",
            "Run a simulated cloud, whose regions can be made to fail.",
            "stead sim-cloud --data cloud",
        ),
    },
    "Access": {
        "login": Entry(
            "login:login", "Log in to a server, and keep the login.", "stead login --server https://stead.example"
        ),
        "logout": Entry("login:logout", "Forget the login at a server.", "stead logout"),
        "whoami": Entry("login:whoami", "Show the current identity and its permissions.", "stead whoami"),
        "role": Entry("roles:app", "Grant and revoke roles of users and groups."),
        "policy": Entry("policy:app", "Manage and test policies, which allow and forbid beyond roles."),
        "token": Entry("token:app", "Manage tokens for programs."),
        "secret": Entry("secret:app", "Seal secrets for agents."),
        "pki": Entry("pki:app", "Manage keys and certificates of a bus that authenticates its clients."),
    },
}
"""The commands of each section, by name."""

COMMANDS = {name: entry for entries in SECTIONS.values() for name, entry in entries.items()}
