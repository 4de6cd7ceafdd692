"""Podman, called as a program: there is no server of it that would have to run."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field

from stead.drivers.base import PermanentError, RetryableError

SITE, PATH, TOKEN, DIGEST = "stead.site", "stead.path", "stead.token", "stead.digest"
"""The labels of our containers."""


class State(Struct, rename="pascal", frozen=True):
    """How a container is."""

    status: str
    exit_code: int
    started_at: datetime
    finished_at: datetime
    oom_killed: bool = field(name="OOMKilled", default=False)


class Config(Struct, rename="pascal", frozen=True):
    """What a container was made with."""

    labels: dict[str, str] | None = None


class Container(Struct, rename="pascal", frozen=True):
    """As podman describes it."""

    id: str
    name: str
    restart_count: int
    state: State
    config: Config

    @property
    def digest(self) -> str:
        """Of the spec that it was made with."""
        return (self.config.labels or {}).get(DIGEST, "")


_DECODER = msgspec.json.Decoder(list[Container])


class Engine:
    """Podman, with the same options every time."""

    def __init__(self, program: str, options: Sequence[str]) -> None:
        self._words = [program, *options]

    def call(self, *words: str, within: float = 5.0) -> str:
        """What it writes. Raises `PermanentError` with its own words where it refuses."""
        done = self._run(words, within)
        if done.returncode != 0:
            raise PermanentError(f"podman says: {_last(done.stderr)}")
        return done.stdout

    def said(self, *words: str, within: float = 5.0) -> tuple[int, str]:
        """How it ended, and what it wrote."""
        done = self._run(words, within)
        return done.returncode, done.stdout + done.stderr

    def containers(self, *names: str) -> dict[str, Container]:
        """Those of the names that there are."""
        if not names:
            return {}
        done = self._run(("container", "inspect", *names), 5.0)
        if done.returncode != 0 and "no such container" not in done.stderr:
            raise RetryableError(f"podman says: {_last(done.stderr)}")
        try:
            return {found.name: found for found in _DECODER.decode(done.stdout)}
        except msgspec.MsgspecError as error:
            raise RetryableError("podman's answer makes no sense", detail=repr(error)) from error

    def all(self, site: str) -> dict[str, Container]:
        """All of a site."""
        listed = self._run(("ps", "--all", "--filter", f"label={SITE}={site}", "--format", "{{.Names}}"), 5.0)
        if listed.returncode != 0:
            raise RetryableError(f"podman says: {_last(listed.stderr)}")
        return self.containers(*listed.stdout.split())

    def stop(self, whole_id: str, within: float = 5.0) -> None:
        """Stop a container for good. One that ends by itself meanwhile may be restarted by podman all the same, so it
        is stopped again until none of podman's processes has to do with it."""
        end = time.monotonic() + within
        while True:
            self._run(("stop", "--time", "0", whole_id), end - time.monotonic())
            if not minded(whole_id):
                return
            _pause(end)

    def remove(self, name: str, grace: float) -> None:
        """Whatever it does. Podman refuses where a restart comes in between."""
        end = time.monotonic() + grace + 3
        while True:
            seconds = str(max(0, round(grace)))
            done = self._run(("rm", "--force", "--time", seconds, name), end - time.monotonic())
            if done.returncode == 0 or "no such container" in done.stderr:
                return
            _pause(end)

    def _run(self, words: Sequence[str], within: float) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [*self._words, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                cwd="/",
                timeout=max(within, 0.5),
                check=False,
                start_new_session=True,  # what it has begun, it is to finish, whatever becomes of the agent
            )
        except FileNotFoundError as error:
            raise PermanentError(f"there is no {self._words[0]} on this machine") from error
        except subprocess.TimeoutExpired as error:
            raise RetryableError("podman does not answer", unknown=True, detail=" ".join(words[:2])) from error


def _pause(end: float) -> None:
    if time.monotonic() > end:
        raise RetryableError("podman goes on restarting it", unknown=True)
    time.sleep(0.05)


def minded(whole_id: str) -> bool:
    """Its monitor is there, or whoever cleans up after it and may restart it."""
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if whole_id.encode() in process.read_bytes():
                return True
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return False


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:500] if lines else "nothing"
