"""Where everything is: a folder for each cluster, and in it one for each app; one for each service and each job.

A folder follows from a path, so that no path can have two. Which of all that ever had the path is in it, its token
says. What is wanted stands in one file, which is put in place whole; an agent that comes later finds all there.

    clusters/NS+SITE+CLUSTER/cluster.json          what is wanted of a cluster
    clusters/NS+SITE+CLUSTER/apps/APP/app.json     what is wanted of an app
    clusters/NS+SITE+CLUSTER/apps/APP/state.json   how it is, in the words of its keeper
    clusters/NS+SITE+CLUSTER/apps/APP/keeper.lock  held for as long as the keeper lives
    clusters/NS+SITE+CLUSTER/apps/APP/log, log.1   what it wrote
    clusters/NS+SITE+CLUSTER/apps/APP/work         where it begins
    services/NS+SYSTEM+…+NAME/service.json         what is wanted of a service
    services/NS+SYSTEM+…+NAME/copies/3             the third of its copies: all that an app has
    jobs/NS+SYSTEM+…+NAME/copies/1                 a job: all that an app has
    locks/                                         held while a call works on a path
    spent/                                         tokens of what was deleted
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from stead.drivers.base import Member, PermanentError, RetryableError
from stead.drivers.process.users import User

log = logging.getLogger(__name__)

CLUSTERS, SERVICES, JOBS = "clusters", "services", "jobs"

SPENT = 30 * 86_400
"""Seconds after which no order can come any more for something that was deleted."""

REMOVED = "it was made, and has been removed since"
OTHER_SPEC = "its token was used for another spec"
"""What is said of tokens under which nothing can be made."""

_SLOTS = 256
_PAUSE = 0.02


class Wanted(Struct, frozen=True, kw_only=True):
    """What is wanted at a place, and for whom."""

    token: str
    path: str
    revision: int
    digest: str
    """Of the spec."""
    first: str
    """Of the spec that it was made with."""
    spec: dict[str, Any]
    order: str = ""
    run: dict[str, Any] = {}
    """For an app: what its keeper has to know. For a service: how many copies there are, and a digest of one."""
    absent: bool = False
    """It is being deleted."""


_DECODER = msgspec.json.Decoder(Wanted)  # made here, since threads must not be the first to use a type


class Place:
    """The folder of one cluster or app."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.file = folder / name

    def wanted(self) -> Wanted | None:
        """What is wanted here; None where nothing is."""
        try:
            return _DECODER.decode(self.file.read_bytes())
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise RetryableError(
                f"{self.file.name} of {self.folder.name} cannot be read", detail=repr(error)
            ) from error

    def readable(self) -> Wanted | None:
        """The same, for a list of all: what cannot be read is left out with a warning, and the others are listed."""
        try:
            return self.wanted()
        except RetryableError as error:
            log.warning("%s is left out: %s (%s)", self.folder, error, error.detail)
            return None

    def write(self, wanted: Wanted) -> None:
        """From now on this is wanted, even if the machine loses its power."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self.file.with_suffix(".new")
        with fresh.open("wb") as file:
            os.fchmod(file.fileno(), 0o600)  # a spec may have secrets in its environment
            file.write(msgspec.json.encode(wanted))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.file)


class App(Place):
    """The folder of an app."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "app.json")
        self.state = folder / "state.json"
        self.lock = folder / "keeper.lock"
        self.log = folder / "log"
        self.work = folder / "work"

    @property
    def above(self) -> Path:
        """The folder of the cluster, service or job that it is in."""
        return self.folder.parent.parent

    def furnish(self, user: User | None) -> None:
        """Where it begins.

        The program owns its working folder and nothing else here: its keeper, who is root, works on all the other
        files. A working folder that was another user's, the keeper hands over while nothing of the program runs.
        """
        with contextlib.suppress(FileExistsError):
            self.work.mkdir(mode=0o755 if user is None else 0o700)
            if user is not None:
                os.chown(self.work, user.uid, user.gid)
        if user is not None:
            for folder in (self.above, self.folder.parent, self.folder):
                _let_through(folder, user.namespace_gid)


class Cluster(Place):
    """The folder of a cluster."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "cluster.json")
        self.net = folder / "net"
        self.tmp = folder / "tmp"

    def apps(self) -> list[App]:
        """Those that are there, wanted or on their way out."""
        return [App(folder) for folder in _folders(self.folder / "apps")]


class Group(Place):
    """The folder of a service or a job, with all copies of the same app in it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "service.json")
        self.tmp = folder / "tmp"

    def copy(self, number: int) -> App:
        """The place of one."""
        return App(self.folder / "copies" / str(number))

    def copies(self) -> list[int]:
        """The numbers of those that are there, wanted or on their way out."""
        return sorted(int(folder.name) for folder in _folders(self.folder / "copies"))

    def furnish(self) -> None:
        """What its copies share."""
        self.tmp.mkdir(parents=True, exist_ok=True)
        self.tmp.chmod(0o1777)


class Root:
    """All that is on the machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
        """Tells this root from others on the machine."""

    def cluster(self, path: str) -> Cluster:
        """The place of a cluster."""
        return Cluster(self.folder / CLUSTERS / _named(path.strip("/").split("/")))

    def app(self, path: str) -> App:
        """The place of an app, in that of its cluster."""
        above, _, name = path.rstrip("/").rpartition("/")
        if not above:
            raise PermanentError(f"{path} is in no cluster")
        return App(self.cluster(above).folder / "apps" / _named([name]))

    def clusters(self) -> list[Cluster]:
        """All that are there."""
        return [Cluster(folder) for folder in _folders(self.folder / CLUSTERS)]

    def group(self, kind: str, path: str) -> Group:
        """The place of a service or a job, however deep in its system."""
        return Group(self.folder / kind / _named(path.strip("/").split("/"), long=True))

    def groups(self, kind: str) -> list[Group]:
        """All that are there."""
        return [Group(folder) for folder in _folders(self.folder / kind)]

    def apps(self) -> list[App]:
        """Every place of a program: of apps, of copies of services, and of jobs."""
        groups = [group for kind in (SERVICES, JOBS) for group in self.groups(kind)]
        copies = [group.copy(number) for group in groups for number in group.copies()]
        return [*(app for cluster in self.clusters() for app in cluster.apps()), *copies]

    def open_to_users(self) -> None:
        """Users of programs may pass through to their own folders, and list none."""
        for folder in (self.folder / kind for kind in (CLUSTERS, SERVICES, JOBS)):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o711)
        self.folder.chmod(self.folder.stat().st_mode & 0o7777 | 0o011)

    def groups_in_use(self) -> set[int]:
        """The groups that may pass through folders of namespaces."""
        folders = (folder for kind in (CLUSTERS, SERVICES, JOBS) for folder in _folders(self.folder / kind))
        return {folder.stat().st_gid for folder in folders}

    @contextlib.contextmanager
    def hold(self, kind: str, path: str, until: float, *, shared: bool = False) -> Iterator[None]:
        """Lock a path, in this process and in any other. Raises `RetryableError` if they do not go."""
        slot = int(hashlib.sha256(path.encode()).hexdigest(), 16) % _SLOTS
        locks = self.folder / "locks"
        locks.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(locks / f"{kind}-{slot:02x}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise RetryableError(f"somebody else is at {path}") from None
                    time.sleep(_PAUSE)
            yield
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def alone(self, kind: str, path: str, until: float) -> Iterator[None]:
        """The same, for what may take long: nobody waits who wants another path."""
        locks = self.folder / "locks"
        locks.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = locks / f"{kind}-{hashlib.sha256(path.encode()).hexdigest()[:32]}"
        while (fd := _locked(lock)) is None:
            if time.monotonic() > until:
                raise RetryableError(f"somebody else is at {path}")
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)  # whoever waits for it notices, and makes a new one
            os.close(fd)

    def spend(self, token: str) -> None:
        """Nothing is made under that token any more. Marks too old to matter go."""
        mark = self._spent(token)
        mark.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        mark.touch()
        if int(mark.name, 16) % 64 == 0:
            for old in mark.parent.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    if old.stat().st_mtime < time.time() - SPENT:
                        old.unlink()

    def is_spent(self, token: str) -> bool:
        """Whether what was made under it has been deleted."""
        return self._spent(token).exists()

    def remove(self, place: Place) -> None:
        """Nothing is left of it, and at no time a part."""
        bin_ = self.folder / "bin"
        bin_.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileNotFoundError):
            place.folder.rename(bin_ / uuid.uuid4().hex)
        for left in _folders(bin_):
            shutil.rmtree(left, ignore_errors=True)

    def _spent(self, token: str) -> Path:
        return self.folder / "spent" / hashlib.sha256(token.encode()).hexdigest()[:32]


def identity(place: Place, token: str) -> str:
    """What one who has a place is called: another who comes after it is called otherwise."""
    inner = f"{place.above.name}/" if isinstance(place, App) else ""
    return f"{inner}{place.folder.name}@{hashlib.sha256(token.encode()).hexdigest()[:12]}"


def is_it(place: Place, there: Wanted, member: Member) -> bool:
    """Whether what is there is the member, by its token or by the id that was told."""
    return there.token == member.token or member.facts.get("id") == identity(place, there.token)


def _named(parts: list[str], *, long: bool = False) -> str:
    """The name of a folder; where that may be, one too long is cut, and has a digest of the whole instead."""
    name = "+".join(quote(part, safe="") for part in parts)
    if long and len(name) > 200:
        name = f"{name[-100:]}+{hashlib.sha256(name.encode()).hexdigest()[:32]}"
    if not name or name.startswith(".") or len(name) > 200:
        raise PermanentError(f"{'/'.join(parts)[:100]} is no name for a folder")
    return name


def _locked(lock: Path) -> int | None:
    """A descriptor of a locked file; None where somebody else has it, or has just removed it."""
    fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(fd).st_ino == lock.stat().st_ino:
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return None


def _let_through(folder: Path, gid: int) -> None:
    """The folder is root's; one group may pass through it, and nobody else."""
    found = folder.stat()
    if (found.st_gid, found.st_mode & 0o7777) != (gid, 0o710):
        os.chown(folder, 0, gid)
        folder.chmod(0o710)


def _folders(inside: Path) -> list[Path]:
    try:
        return sorted(folder for folder in inside.iterdir() if folder.is_dir())
    except FileNotFoundError:
        return []
