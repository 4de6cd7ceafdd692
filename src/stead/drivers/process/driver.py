"""The driver of real processes, for clusters, apps, services and jobs: whatever runs has a keeper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from stead.drivers import settings
from stead.drivers.process.machine import Owners, machine_at
from stead.drivers.process.processes import Processes
from stead.drivers.process.site import APP, CLUSTER, SiteDriver

__all__ = ["APP", "CLUSTER", "Config", "ProcessDriver", "from_config"]


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where on this machine things are kept, and how far apart.

    Credentials: none.
    """

    root: str
    """The folder for all that is made; it is made if need be."""
    provider: str = ""
    """As the lane has it; without meaning here."""
    region: str = ""
    """As the lane has it; without meaning here."""
    isolation: bool = True
    """Every app has namespaces of its own. Without them an app is an ordinary process."""
    log_size: Annotated[int, Meta(ge=1000, le=2**30)] = 2**20
    """Bytes of what an app wrote, after which a new file is begun."""
    log_files: Annotated[int, Meta(ge=1, le=10)] = 3
    """So many of these files are kept."""
    uids: str = "1900000000-1900065535"
    """The user ids that namespaces get, one each, where the agent runs as root. Nothing else may use them."""
    allowed_users: str = ""
    """Users, by name or number and with commas, that a spec's `user` may name. Without it none, and not root."""
    uid_file: str = ""
    """The file that says which namespace has which id, for all agents of the machine; if not said,
    `/var/lib/stead-users/ids.json`."""
    patience: Annotated[float, Meta(ge=0)] = 2.0
    """Seconds that a call waits for an app to come up; what takes longer is looked at."""
    timeout: Annotated[float, Meta(ge=4)] = 10.0
    """Seconds that a call may last."""


def from_config(config: Mapping[str, Any]) -> ProcessDriver:
    """For the registry."""
    try:
        return ProcessDriver(settings.read(Config, config))
    except (ValueError, OSError) as error:
        raise ValueError(f"the configuration of the driver of processes is wrong: {error}") from error


class ProcessDriver(SiteDriver):
    """Runs processes."""

    def __init__(self, config: Config) -> None:
        machine = machine_at(
            config.root,
            Owners(uids=config.uids, allowed_users=config.allowed_users, uid_file=config.uid_file),
            isolation=config.isolation,
            patience=config.patience,
            log_size=config.log_size,
            log_files=config.log_files,
        )
        super().__init__(machine, Processes(machine), config.timeout, "the driver of processes")
