"""The page of every setting: variables of the environment, options of the processes, settings of the drivers."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

import msgspec
from msgspec.structs import FieldInfo

from stead.cli.environment import VARIABLES
from stead.drivers import registry
from stead.drivers.ec2.driver import Config as Ec2
from stead.drivers.libvirt.settings import Config as Libvirt
from stead.drivers.lxd.connection import Config as Lxd
from stead.drivers.openstack.settings import Config as OpenStack
from stead.drivers.podman.driver import Config as Podman
from stead.drivers.process.driver import Config as Process
from stead.drivers.program.driver import Config as Program
from stead.drivers.settings import secret
from stead.drivers.sim.driver import Config as Sim
from tools.docs.attributes import sentences
from tools.docs.commands import Command, leaves, options
from tools.docs.markdown import MADE, code, flat, table

PROCESSES = ("server", "controller", "agent run", "sim-cloud", "dev")
DRIVERS: dict[str, type[msgspec.Struct]] = {
    "sim": Sim,
    "ec2": Ec2,
    "libvirt": Libvirt,
    "lxd": Lxd,
    "openstack": OpenStack,
    "podman": Podman,
    "process": Process,
    "program": Program,
}

HEAD = f"""{MADE}

# Configuration

There is no configuration file. A process is told what it needs by options, and where an option has a variable of the
environment, by that; the option counts first. What is changed while a cell runs (limits of lanes, for example) is in
the database, and changed by commands.

## Environment

| variable | what it says |
|---|---|"""

DRIVERS_HEAD = """
## Drivers

`stead agent run --driver NAME` says which driver serves its lanes, `--set name=value` gives it a setting, `--settings
FILE` all of those in a YAML file. `provider` and `region` follow from the name of the lane and need not be set. One
that is a secret is named, as `env:NAME`, `file:PATH`, `command:WORDS` or `sealed:…`, and never said:
[how](../how-to/credentials.md).
[Drivers](../drivers.md) and [EC2](../ec2.md) show them at work.
"""


def page() -> str:
    """All of them."""
    lines = [HEAD, *_variables(), "", "## Processes", ""]
    for name in PROCESSES:
        command = dict(leaves())[f"stead {name}"]
        lines += [f"### stead {name}", "", flat(str(command.help).partition("\n\n")[0]), ""]
        lines += [*table(("option", "variable", "default", "meaning"), _options(command)), ""]
    lines += [DRIVERS_HEAD.strip("\n"), ""]
    for name in registry.names():
        lines += [*_driver(name), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _variables() -> list[str]:
    """Those of options with what the option says and who has it; those of none with what the code says of them."""
    who: dict[str, list[str]] = {}
    means: dict[str, str] = {}
    for name, command in leaves():
        for option in options(command):
            if option.envvar:
                who.setdefault(option.envvar, []).append(name)
                means[option.envvar] = f"`{option.opts[0]}` of {{}}: {option.help}"
    some = {name: means[name].format(_who(commands)) for name, commands in who.items()}
    return [f"| `{name}` | {says} |" for name, says in sorted({**some, **VARIABLES}.items())]


def _who(commands: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in commands) if len(commands) < 5 else "every command that asks a server"


def _options(command: Command) -> Iterator[tuple[str, str, str, str]]:
    for option in options(command):
        default = option.default
        shown = "required" if option.required else code("" if default in (None, False) else default)
        yield code(option.opts[0]), code(option.envvar or ""), shown, flat(option.help or "")


def _default(field: FieldInfo, hidden: list[str]) -> str:
    if field.name in hidden:
        return "a secret"
    return "required" if field.required else code(field.default)


def _driver(name: str) -> list[str]:
    config = DRIVERS[name]
    what, _, credentials = cleandoc(config.__doc__ or "").partition("\n\n")
    said = sentences(config)
    hidden = secret(config)
    rows = [(code(field.name), _default(field, hidden), said[field.name]) for field in msgspec.structs.fields(config)]
    return [f"### {name}", "", flat(what), "", flat(credentials), "", *table(("setting", "default", "meaning"), rows)]
