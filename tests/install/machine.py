"""A machine that systemd runs: this one as it is, in namespaces of its own, and what is written to it is forgotten.

It has its own processes, network, mounts and control groups. It needs root and Linux.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from stead.dev.children import children
from stead.dev.engines import nats_binary

ROOT = Path(__file__).parents[2]
SYSTEMD = Path("/lib/systemd/systemd")
STEAD = "/opt/stead/bin/stead"

BOOT = f"""
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/written" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/written,workdir=$1/work" "$1/root"
cd "$1/root"
ip link set lo up
mount -t proc proc proc
mount -t sysfs sysfs sys
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then mount -t cgroup2 cgroup2 sys/fs/cgroup
else mount -t tmpfs tmpfs sys/fs/cgroup; mkdir sys/fs/cgroup/systemd
     mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd; fi
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
rm -rf etc/systemd/system/*.wants
ln -sf /dev/null etc/systemd/system/systemd-udevd.service
exec chroot . /usr/bin/env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin {SYSTEMD} --system --unit=basic.target
"""

PYTHON = """
set -e
cp -a "$1" /opt/python
echo /opt/python/lib > /etc/ld.so.conf.d/python.conf
ldconfig
/opt/python/bin/python3 -m venv --without-pip /opt/stead
printf '%s\\n' "$2" "$3" > "$(echo /opt/stead/lib/python3*/site-packages)/stead.pth"
printf '#!/opt/stead/bin/python\\nfrom stead.cli.main import app\\napp()\\n' > "$4"
chmod 755 "$4"
cp "$5" /opt/stead/bin/nats-server
"""
"""An interpreter that services can read, with what this one has."""


@contextmanager
def booted(folder: Path) -> Iterator[Machine]:
    """A machine; where there can be none, the test is skipped."""
    if why := missing():
        pytest.skip(why)
    folder.mkdir()
    with Machine(folder) as one:
        yield one


def missing() -> str:
    """Why there can be no such machine here; nothing where there can."""
    if os.geteuid() != 0:
        return "namespaces need root"
    absent = [name for name in ("unshare", "nsenter", "ip") if shutil.which(name) is None]
    if absent or not SYSTEMD.exists():
        return f"{', '.join([*absent, *([] if SYSTEMD.exists() else ['systemd'])])} is missing"
    unseen = ("/root", "/home", "/tmp")
    hidden = [path for path in (ROOT, Path(sys.prefix)) if any(map(path.is_relative_to, unseen))]
    return f"services see nothing of {hidden[0]}" if hidden else ""


class Machine:
    """Booted, until it is closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        spaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--fork", "--kill-child"]
        self.log = (folder.parent / f"{folder.name}.log").open("wb")
        boot = ["unshare", *spaces, "sh", "-c", BOOT, "boot", str(folder)]
        self.process = subprocess.Popen(boot, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        try:
            self._furnish()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _furnish(self) -> None:
        self.until(lambda: self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"))
        site = sysconfig.get_paths()["purelib"]
        words = ["sh", "-c", PYTHON, "python", sys.base_prefix, str(ROOT / "src"), site, STEAD, str(nats_binary())]
        made = self.run(*words)
        assert made.returncode == 0, made.stderr

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """A command on it."""
        told = [f"{name}={value}" for name, value in env.items()]
        inside = [*self.entering(), "env", *told, *words]
        return subprocess.run(inside, capture_output=True, text=True, check=False, timeout=180)

    def entering(self) -> list[str]:
        """The words before a command that is to run on it."""
        init = next(iter(children(self.process.pid)), self.process.pid)
        return ["nsenter", "--target", str(init), "--all", "--root", "--wd"]

    def until(self, true: Callable[[], bool], seconds: float = 60) -> None:
        """Wait for it."""
        end = time.monotonic() + seconds
        while not true():
            assert self.process.poll() is None, Path(self.log.name).read_text()
            assert time.monotonic() < end, self.run("journalctl", "--no-pager", "--lines=60").stdout
            time.sleep(0.2)
