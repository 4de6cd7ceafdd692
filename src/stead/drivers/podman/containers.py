"""Containers as what apps are: podman runs the apps, restarts them and keeps what they write.

Nothing of ours stays beside a container: its monitor outlives the agent, and restarts it as podman does. Its health
is checked by whoever looks.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from stead.drivers.base import TRANSITIONAL, LogTail, PermanentError, RetryableError
from stead.drivers.podman.engine import DIGEST, PATH, SITE, TOKEN, Container, Engine, minded
from stead.drivers.process import spec
from stead.drivers.process.folders import App, Wanted
from stead.drivers.process.keeper import health
from stead.drivers.process.machine import Machine
from stead.drivers.process.runner import READY, Frame, Sight
from stead.drivers.process.users import User, account, number
from stead.lifecycle.rows import ABSENT, BROKEN

SOON = 5.0
"""Seconds in which podman has restarted what it restarts."""

BLOCK = 65_536
"""User ids of each namespace: as many as images use."""

_RESTART = {"always": "always", "on-failure": "on-failure", "never": "no"}


KILLED = 128 + signal.SIGKILL
"""The exit code of a container that was killed."""


class Asked(spec.App, frozen=True, kw_only=True):
    """The spec of an app that is a container."""

    image: Annotated[str, Meta(pattern="^[A-Za-z0-9][!-~]*$")]
    command: list[spec.Argument] = field(default_factory=list)
    """Without it, the image's own."""


msgspec.json.Decoder(Asked)  # threads must not be the first to use a type


class Containers:
    """Podman does what stands in the folders."""

    pause = 0.1

    def __init__(self, machine: Machine, engine: Engine, options: list[str], longest_grace: float) -> None:
        self._machine = machine
        self._root = machine.root
        self._engine = engine
        self._options = options
        self._longest_grace = longest_grace

    def read(self, said: Mapping[str, Any]) -> spec.App:
        """An app is an image."""
        asked = spec.read(Asked, said)
        if asked.stop.grace > self._longest_grace:
            raise PermanentError(
                f"a grace of more than {self._longest_grace:g} s needs a longer timeout of the driver"
            )
        return asked

    def user(self, path: str, named: int | str | None) -> User | None:
        """One of the namespace's ids, as the machine knows it; or a user of the machine that the operator allowed."""
        users = self._machine.users
        if users is None:
            return None
        uid = 0 if named is None else number(named)
        if named is not None and uid in users.allowed:
            return account(uid, users.first(path))
        if uid is None or (isinstance(named, str) and not named.isdecimal()):
            raise PermanentError(users.rejection(named))
        if uid >= BLOCK:
            raise PermanentError(f"user {uid}: a container has the users 0 to {BLOCK - 1}")
        first = users.first(path)
        return User(uid=first + uid, gid=first, namespace_gid=first, name="")

    def room(self, wanted: Wanted) -> float:
        """What was there is stopped before that."""
        return float(wanted.run["stop_grace"]) + 3

    def run(self, place: App, frame: Frame, asked: spec.App) -> dict[str, Any]:
        """All words for podman but those of its user, which are those of the day on which it starts."""
        assert isinstance(asked, Asked)
        if frame.net and asked.health is not None and asked.health.command is None:
            raise PermanentError("in a network of its own, health is checked by a command")
        labels = {SITE: self._root.mark, PATH: frame.path, TOKEN: frame.token, DIGEST: frame.digest}
        words = ["--name", self._name(place), "--hostname", frame.host[:63]]
        for name, value in labels.items():
            words += ["--label", f"{name}={value}"]
        for name, value in {**frame.env, **asked.env}.items():
            words += ["--env", f"{name}={value}"]
        words += ["--network", f"ns:{frame.net}" if frame.net else "host", "--volume", f"{frame.tmp}:/tmp"]
        words += ["--restart", _RESTART[asked.restart], "--stop-signal", f"SIG{asked.stop.signal}"]
        words += ["--log-driver", "k8s-file", "--log-opt", f"max-size={self._machine.log_size}b"]
        if self._machine.cgroups is not None:
            words += ["--cgroup-parent", f"/{self._machine.group(self._machine.group_name(place.above))}"]
        said = {"cpus": asked.cpu, "memory": asked.bytes, "pids-limit": asked.pids}
        words += [f"--{name}={value}" for name, value in said.items() if value is not None]
        return {
            "words": [*self._options, *words, asked.image, *asked.command],
            "stop_grace": asked.stop.grace,
            "settle": asked.settle,
            "restart": asked.restart,
            "health": msgspec.to_builtins(asked.health),
        }

    def view(self) -> object:
        """All containers of the site."""
        return self._engine.all(self._root.mark)

    def observe(self, place: App, wanted: Wanted, view: object = None) -> Sight:
        """What podman says of it."""
        name = self._name(place)
        found = (view if isinstance(view, dict) else self._engine.containers(name)).get(name)
        if wanted.absent:
            return Sight(state=ABSENT if found is None else TRANSITIONAL, alive=found is not None)
        if found is None and self._mark(place, "begun") == wanted.digest:
            return Sight(state=BROKEN, error="its container is gone")
        if found is None or found.digest != wanted.digest or found.state.status in ("created", "configured"):
            return Sight(state=BROKEN, fresh=True, error="nobody has started it")
        if found.state.status in ("running", "stopping"):
            return self._running(place, wanted, found)
        return self._ended(place, wanted, found)

    def lost(self, place: App, wanted: Wanted) -> bool:
        """It was up, and podman, which would have restarted it, has not: its monitor is gone, too."""
        name = self._name(place)
        found = self._engine.containers(name).get(name)
        if found is None or found.digest != wanted.digest or not self._proven(place, found):
            return False
        return wanted.run["restart"] != "never" and self._ended_with_machine(found)

    def _ended_with_machine(self, found: Container) -> bool:
        if found.state.status in ("running", "stopping"):
            return not minded(found.id)
        return found.state.status != "paused"

    def alive(self, place: App) -> bool:
        """There is a container."""
        return bool(self._engine.containers(self._name(place)))

    def start(self, place: App, wanted: Wanted, within: float) -> None:
        """In place of whatever is there."""
        end = time.monotonic() + within
        self._remove(place, wanted.run["stop_grace"])
        (place.folder / "proven").unlink(missing_ok=True)
        self._engine.call("run", "--detach", *self._words(wanted), within=end - time.monotonic())
        (place.folder / "begun").write_text(wanted.digest)

    def heed(self, place: App) -> None:
        """What is not wanted any more is removed; all else is done by `start`."""
        wanted = place.wanted()
        if wanted is not None and wanted.absent:
            self._remove(place, wanted.run["stop_grace"])

    def end(self, place: App) -> None:
        """Remove it."""
        self._remove(place, 0)

    def drop(self, place: App) -> None:
        """Podman would restart it for ever."""
        name = self._name(place)
        if (found := self._engine.containers(name).get(name)) is not None:
            self._engine.stop(found.id)

    def kill(self, place: App) -> None:
        """Remove it at once."""
        self._remove(place, 0)

    def tail(self, place: App, lines: int, since: str) -> LogTail:
        """From podman's own files; a position is a time."""
        words = ["logs", "--timestamps", *(["--since", since] if since else ["--tail", str(lines)])]
        code, text = self._engine.said(*words, self._name(place))
        if code != 0:
            raise PermanentError("podman has nothing of what it wrote")
        stamped = [line.partition(" ") for line in text.splitlines()]
        fresh = [(at, said) for at, _, said in stamped if at > since]
        return LogTail(lines=[said for _, said in fresh][-lines:], position=fresh[-1][0] if fresh else since)

    def _words(self, wanted: Wanted) -> list[str]:
        """All words for podman, of which an earlier version of the agent may have written some."""
        words: list[str] = wanted.run["words"]
        end = len(words) - 1 - len(wanted.spec.get("command") or [])
        options = [word for word in words[:end] if not word.startswith("--user=")]
        own_net = any(option == "--network" and of.startswith("ns:") for option, of in pairwise(options))
        return [*options, *self._user_words(wanted, own_net=own_net), *words[end:]]

    def _user_words(self, wanted: Wanted, *, own_net: bool) -> list[str]:
        """In a user namespace the container's root is an ordinary user of the machine. Podman sets up none in a
        network that exists already: there the container runs as such a user at once, and can gain no privileges."""
        named = wanted.spec.get("user")
        user = self.user(wanted.path, named)
        if user is None:
            return [] if named is None else [f"--user={named}"]
        if not user.confined:
            return [f"--user={user.uid}:{user.gid}"]
        if own_net:
            return [f"--user={user.uid}:{user.gid}", "--cap-drop=all", "--security-opt=no-new-privileges"]
        ids = f"0:{user.namespace_gid}:{BLOCK}"
        words = [f"--uidmap={ids}", f"--gidmap={ids}"]
        return words if named is None else [*words, f"--user={named}"]

    def _running(self, place: App, wanted: Wanted, found: Container) -> Sight:
        age = time.time() - found.state.started_at.timestamp()
        proven = self._proven(place, found)
        check = wanted.run["health"]
        if check is None:
            if found.restart_count and not proven:
                return self._failed(place, "it ended soon after its start")
            if age < wanted.run["settle"]:
                return Sight(state=TRANSITIONAL, alive=True)
        elif why := self._ill(found, check, check["failures"] if proven else 1):
            if proven:
                return Sight(state=BROKEN, error=f"its health check fails: {why}{self._last_lines(place)}")
            if age < check["grace"] and not found.restart_count:
                return Sight(state=TRANSITIONAL, alive=True)
            return self._failed(place, f"it did not become well within {check['grace']:g} s: {why}")
        if not proven:
            (place.folder / "proven").write_text(found.id)
        return Sight(state=READY, alive=True)

    def _ended(self, place: App, wanted: Wanted, found: Container) -> Sight:
        code, restart = found.state.exit_code, wanted.run["restart"]
        if code == 0 and restart != "always":
            return Sight(state=READY, ended=True)
        recent = time.time() - found.state.finished_at.timestamp() < SOON
        if restart != "never" and recent and self._proven(place, found):
            return Sight(state=TRANSITIONAL, alive=True)
        return self._failed(place, f"it ended with exit code {code}{_killed(wanted, found)}")

    def _failed(self, place: App, why: str) -> Sight:
        return Sight(state=BROKEN, failed=True, error=f"{why}{self._last_lines(place)}")

    def _ill(self, found: Container, check: dict[str, Any], tries: int) -> str:
        """Why it is not well, after so many tries; nothing, where it is."""
        why = ""
        for _ in range(min(tries, 3)):
            if check.get("command"):
                why = self._exec(found, check["command"], min(check["timeout"], 3))
            else:
                why = health.check({**check, "timeout": min(check["timeout"], 1)})
            if not why:
                return ""
        return why

    def _exec(self, found: Container, command: list[str], within: float) -> str:
        try:
            code, text = self._engine.said("exec", found.id, *command, within=within)
        except RetryableError:
            return f"a check took longer than {within:g} s"
        return "" if code == 0 else text.strip()[-300:] or f"exit code {code}"

    def _proven(self, place: App, found: Container) -> bool:
        """It has been up."""
        return self._mark(place, "proven") == found.id

    def _mark(self, place: App, name: str) -> str:
        try:
            return (place.folder / name).read_text()
        except FileNotFoundError:
            return ""

    def _last_lines(self, place: App) -> str:
        code, text = self._engine.said("logs", "--tail", "5", self._name(place))
        lines = [line[:300] for line in text.splitlines()] if code == 0 else []
        return f"; the last it wrote: {' | '.join(lines)}" if lines else ""

    def _remove(self, place: App, grace: float) -> None:
        self._engine.remove(self._name(place), grace)

    def _name(self, place: App) -> str:
        """Follows from its folder, so that no path can have two."""
        whole = os.fspath(place.folder.relative_to(self._root.folder))
        return f"stead-{self._root.mark}-{hashlib.sha256(whole.encode()).hexdigest()[:16]}"


def _killed(wanted: Wanted, found: Container) -> str:
    """Why a container was killed. Not every kernel and runtime tell podman that it ran out of memory."""
    if found.state.oom_killed:
        return ": it ran out of memory"
    limit = wanted.spec.get("memory")
    if found.state.exit_code != KILLED or limit is None:
        return ""
    return f": it was killed, and probably ran out of memory; its limit is {limit}"
