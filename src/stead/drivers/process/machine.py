"""The machine of a site: where things are kept on it, and the limits that it can hold them to."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from stead.drivers.base import PermanentError
from stead.drivers.process import cgroups
from stead.drivers.process.cgroups import Cgroups
from stead.drivers.process.folders import CLUSTERS, App, Root
from stead.drivers.process.spec import Limits
from stead.drivers.process.users import Users, make_users


class Machine(Struct, frozen=True, kw_only=True):
    """The machine, and what is to be had on it."""

    root: Root
    cgroups: Cgroups | None
    isolation: bool
    log_size: int
    log_files: int
    patience: float
    users: Users | None
    """The users that programs run as; None where the agent does not run as root, and all of them run as itself."""

    def limit(self, group: str, limits: Limits) -> list[str]:
        """Hold a group to limits; the files through which one enters it. Without limits there may be none."""
        if self.cgroups is None:
            if limits.some:
                raise PermanentError("this machine lets the agent make no control groups, so limits cannot be kept")
            return []
        try:
            self.cgroups.limit(group, limits)
        except OSError as error:
            raise PermanentError(f"the limits cannot be set: {error.strerror}") from error
        return self.cgroups.entrances(group)

    def unlimit(self, group: str) -> None:
        """The group goes."""
        if self.cgroups is not None:
            self.cgroups.remove(group)

    def group(self, cluster: str, app: str = "") -> str:
        """The name of the group of a cluster's or an app's folder."""
        return f"stead/{self.root.mark}/{cluster}/{app}".rstrip("/")

    def group_of(self, place: App) -> str:
        """The name of the group of whatever runs in a folder."""
        return self.group(self.group_name(place.above), place.folder.name)

    def group_name(self, above: Path) -> str:
        """What the group of a folder is called in which apps are: no two folders have the same."""
        return above.name if above.parent.name == CLUSTERS else f"{above.parent.name}@{above.name}"


class Owners(Struct, frozen=True, kw_only=True):
    """Settings of an agent that say which users programs run as."""

    uids: str
    allowed_users: str
    uid_file: str
    count: int = 1
    """Ids of each namespace."""


def machine_at(
    root: str, owners: Owners, *, isolation: bool, patience: float, log_size: int, log_files: int
) -> Machine:
    """The machine, with a folder for all that is made on it."""
    folder = Path(root)
    if not folder.is_absolute():
        raise ValueError(f"root is a whole path, which {root} is not")
    folder.mkdir(parents=True, exist_ok=True, mode=0o711)
    place = Root(folder.resolve())
    users = make_users(
        owners.uids, owners.allowed_users, owners.uid_file, count=owners.count, in_use=place.groups_in_use
    )
    if users is not None:
        place.open_to_users()
    return Machine(
        root=place,
        users=users,
        cgroups=cgroups.found(),
        isolation=isolation,
        log_size=log_size,
        log_files=log_files,
        patience=patience,
    )
