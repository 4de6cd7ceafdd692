"""A real LXD for tests: a daemon with namespaces of its own, a pool in a folder, and an image of one shell.

Its processes, mounts and network live in namespaces that end with the first process in them; so whatever it started
ends with it, also where the test run itself is killed.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from stead.dev.children import START_TIMEOUT, Server, children

PROGRAMS = ("lxd", "lxc", "busybox", "unshare", "nsenter", "ip")

# The devices of this network are to be found under /sys. The first process stays, to reap what loses its parent.
FIRST = """
set -e
mkdir -p cgroups
mount --rbind /sys/fs/cgroup cgroups
mount -t sysfs sysfs /sys
mount --rbind cgroups /sys/fs/cgroup
ip link set lo up
lxd --group root &
wait $!
"""

# It ends when it is asked to power off, unless there is a file that says that it is deaf, or slow.
INIT = """#!/bin/sh
trap 'test -e /slow && sleep 5; test -e /deaf || exit 0' PWR
while :; do sleep 3600 & wait $!; done
"""


def missing() -> str:
    """Why there can be no LXD here; nothing, if there can."""
    lacking = [program for program in PROGRAMS if not shutil.which(program)]
    if lacking:
        return f"LXD cannot be started: {', '.join(lacking)} not installed"
    if b"/ld-" in Path(shutil.which("busybox") or "").read_bytes()[:4096]:
        return "LXD cannot be started: this busybox needs libraries, and its image has none"
    return "" if os.geteuid() == 0 else "LXD cannot be started: only root may"


class Lxd(Server):
    """The daemon. Tests keep apart by project."""

    def __init__(self) -> None:
        super().__init__("lxd")
        self.folder.chmod(0o711)  # what runs inside is not root out here, and has to get to its files
        self.home = self.folder / "lxd"
        self.socket = self.home / "unix.socket"
        self.events = self.folder / "events"
        self.monitor: subprocess.Popen[bytes] | None = None
        self.sweepers = ThreadPoolExecutor(2)
        """They remove what tests leave, while others go on."""

    def command(self) -> Sequence[str | Path]:
        alone = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return [*alone, "env", f"LXD_DIR={self.home}", "sh", "-c", FIRST]

    def ready(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.socket))
            except OSError:
                return False
        try:
            return self.request("GET", "/1.0") is not None
        except RuntimeError:
            return False

    def start(self) -> None:
        super().start()
        if not self.events.exists():
            self.prepare()
        with self.events.open("ab") as events:
            command = ["lxc", "monitor", "--type=lifecycle", "--format=json", "--all-projects"]
            where = {**os.environ, "LXD_DIR": str(self.home), "LXD_CONF": str(self.folder / "lxc")}
            self.monitor = subprocess.Popen(command, stdout=events, stderr=subprocess.DEVNULL, env=where)
        self.settle_events()

    def kill(self) -> None:
        if self.monitor is not None:
            self.monitor.kill()
            self.monitor.wait()
            self.monitor = None
        super().kill()

    def destroy(self) -> None:
        self.sweepers.shutdown()
        super().destroy()

    def stop(self) -> None:
        raise NotImplementedError("its namespaces end with a kill, and nothing else does")

    def prepare(self) -> None:
        """What instances need: somewhere to be, and something to be made of."""
        self.request("POST", "/1.0/storage-pools", json={"name": "default", "driver": "dir"})
        made = self.request("POST", "/1.0/images", content=image())
        print_of = made["metadata"]["fingerprint"]
        self.request("POST", "/1.0/images/aliases", json={"name": "tiny", "target": print_of})

    def add_project(self, name: str) -> None:
        """A project without instances, which has the image."""
        settings = {"features.images": "false", "features.profiles": "true"}
        self.request("POST", "/1.0/projects", json={"name": name, "config": settings})
        root = {"type": "disk", "path": "/", "pool": "default"}
        self.request("PUT", f"/1.0/profiles/default?project={name}", json={"devices": {"root": root}})

    def empty_project(self, name: str) -> None:
        """Remove whatever is there."""
        for instance in self.request("GET", f"/1.0/instances?project={name}&recursion=1"):
            at = f"/1.0/instances/{instance['name']}"
            if instance["status"] != "Stopped":
                self.request("PUT", f"{at}/state?project={name}", json={"action": "stop", "force": True})
            self.request("DELETE", f"{at}?project={name}")

    def request(self, method: str, path: str, **content: Any) -> Any:
        """One request, past everybody, with its operation waited for."""
        transport = httpx.HTTPTransport(uds=str(self.socket), verify=False)  # reading certificates takes its time
        with httpx.Client(transport=transport, base_url="http://lxd", timeout=60, trust_env=False) as client:
            said = client.request(method, path, **content).json()
            if said["type"] == "async":
                said = client.get(f"{said['operation']}/wait?timeout=25").json()
            if said["type"] == "error" or failed(said["metadata"]):
                raise RuntimeError(f"{method} {path}: {said}")
            return said["metadata"]

    def inside(self, *command: str) -> str:
        """What a program says that is run in LXD's network."""
        (first,) = children(self.pid)
        enter = ["nsenter", "--net", "--target", str(first), *command]
        return subprocess.run(enter, check=True, capture_output=True, text=True, timeout=START_TIMEOUT).stdout

    def happened(self, action: str, name: str) -> int:
        """How often LXD did this to instances of that name, by its own word."""
        self.settle_events()
        events = [event["source"] for event in self.told() if event["action"] == action]
        return sum(f"/instances/{name}" in source for source in events)

    def settle_events(self) -> None:
        """Wait until the monitor has written what happened so far: it has, when it has what happens now."""
        end = time.monotonic() + START_TIMEOUT
        while time.monotonic() < end:
            name = f"now-{secrets.token_hex(8)}"
            self.request("POST", "/1.0/profiles", json={"name": name})
            self.request("DELETE", f"/1.0/profiles/{name}")
            soon = time.monotonic() + 0.5
            while time.monotonic() < soon:
                if any(name in event["source"] for event in self.told()):
                    return
                time.sleep(0.01)
        raise TimeoutError("LXD's events do not come")

    def told(self) -> list[dict[str, str]]:
        lines = self.events.read_text().splitlines(keepends=True)
        return [json.loads(line)["metadata"] for line in lines if line.startswith("{") and line.endswith("\n")]


def failed(metadata: Any) -> bool:
    return isinstance(metadata, dict) and metadata.get("status") == "Failure"


def image() -> bytes:
    """A root with a busybox, and an init that does nothing until it is told to end."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:

        def add(name: str, content: bytes, mode: int = 0o644) -> None:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))

        add("metadata.yaml", f"architecture: {os.uname().machine}\ncreation_date: 1700000000\n".encode())
        for folder in ("", "/bin", "/sbin", "/dev", "/proc", "/sys", "/tmp", "/run", "/etc"):
            entry = tarfile.TarInfo(f"rootfs{folder}")
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        add("rootfs/bin/busybox", Path(shutil.which("busybox") or "").read_bytes(), 0o755)
        for program in ("sh", "sleep", "test"):
            link = tarfile.TarInfo(f"rootfs/bin/{program}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        add("rootfs/sbin/init", INIT.encode(), 0o755)
    return packed.getvalue()
