"""The driver of containers, for clusters, apps, services and jobs, by podman."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from stead.drivers import settings
from stead.drivers.podman.containers import BLOCK, Containers
from stead.drivers.podman.engine import Engine
from stead.drivers.process.machine import Owners, machine_at
from stead.drivers.process.site import TIMEOUT_MARGIN, SiteDriver


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which podman, and where on this machine things are kept.

    Credentials: none.
    """

    root: str
    """The folder for what is wanted of clusters and apps, made if need be. Images and containers are podman's."""
    provider: str = ""
    """As the lane has it; without meaning here."""
    region: str = ""
    """As the lane has it; without meaning here."""
    program: str = "podman"
    """The program."""
    options: str = ""
    """Words for every call, such as `--runtime runc --cgroup-manager cgroupfs`."""
    run_options: str = ""
    """Words for every container, such as `--pull never`."""
    uids: str = "1950000000-2015535999"
    """The user ids that namespaces get, 65,536 each, where the agent runs as root. Nothing else may use them."""
    allowed_users: str = ""
    """Users of the machine, by name or number and with commas, that a spec's `user` may name; such a container has no
    user namespace. Without it none, and not root."""
    uid_file: str = ""
    """The file that says which namespace has which ids, for all agents of the machine; if not said,
    `/var/lib/stead-users/ids.json`."""
    log_size: Annotated[int, Meta(ge=1000, le=2**30)] = 2**20
    """Bytes of what an app wrote, after which podman begins anew."""
    patience: Annotated[float, Meta(ge=0)] = 2.0
    """Seconds that a call waits for an app to come up; what takes longer is looked at."""
    timeout: Annotated[float, Meta(ge=4)] = 10.0
    """Seconds that a call may last."""


def from_config(config: Mapping[str, Any]) -> PodmanDriver:
    """For the registry."""
    try:
        return PodmanDriver(settings.read(Config, config))
    except (ValueError, OSError) as error:
        raise ValueError(f"the configuration of podman is wrong: {error}") from error


class PodmanDriver(SiteDriver):
    """Runs containers."""

    def __init__(self, config: Config) -> None:
        machine = machine_at(
            config.root,
            Owners(uids=config.uids, allowed_users=config.allowed_users, uid_file=config.uid_file, count=BLOCK),
            isolation=True,
            patience=config.patience,
            log_size=config.log_size,
            log_files=1,
        )
        engine = Engine(config.program, shlex.split(config.options))
        grace = config.timeout - TIMEOUT_MARGIN - 3
        containers = Containers(machine, engine, shlex.split(config.run_options), max(grace, 0))
        super().__init__(machine, containers, config.timeout, "the driver of podman")
