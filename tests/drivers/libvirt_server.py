"""A real libvirt for tests: a daemon that believes to be alone on a host of its own.

Its files, processes and network live in namespaces that end with the first process in them; so whatever it started,
guests too, ends with it, also where the test run itself is killed. A daemon that ends is started again, unless it is
held down.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from stead.dev.children import Server, children, signal_process, status, wait_until

if find_spec("libvirt") is not None:
    import libvirt

PROGRAMS = ("libvirtd", "unshare", "mount", "ip")
FOLDERS = ("run/libvirt", "var/lib/libvirt", "var/cache/libvirt", "var/log/libvirt", "etc/libvirt")

# The first process stays, to reap what loses its parent.
FIRST = """
set -e
for folder in $FOLDERS; do
    mkdir -p "$PWD/$folder" "/$folder"
    mount --bind "$PWD/$folder" "/$folder"
done
cp qemu.conf /etc/libvirt/qemu.conf
hostname "$HOST"
ip link set lo up
while :; do
    while [ -e held ]; do sleep 0.02; done
    libvirtd -f "$PWD/libvirtd.conf" -p "$PWD/pid" || true
    sleep 0.02
done
"""

DAEMON = """
unix_sock_dir = "{folder}"
unix_sock_rw_perms = "0700"
auth_unix_rw = "none"
auth_unix_ro = "none"
host_uuid = "{uuid}"
"""

# As guests need it where there is no systemd, no virtlogd and nobody but root.
QEMU = """
user = "root"
group = "root"
security_driver = "none"
stdio_handler = "file"
cgroup_controllers = []
namespaces = []
remember_owner = 0
"""


def missing() -> str:
    """Why there can be no libvirt here; nothing, if there can."""
    if find_spec("libvirt") is None:
        return "libvirt-python is not installed: make setup-libvirt"
    lacking = [program for program in PROGRAMS if not shutil.which(program)]
    if lacking:
        return f"libvirt cannot be started: {', '.join(lacking)} not installed"
    return "" if os.geteuid() == 0 else "libvirt cannot be started: only root may"


class Libvirt(Server):
    """The daemon of one node."""

    def __init__(self, node: str, uuid: str) -> None:
        super().__init__(f"libvirt-{node}")
        self.node = node
        self.folder.chmod(0o711)
        self.socket = self.folder / "libvirt-sock"
        self.held = self.folder / "held"
        (self.folder / "libvirtd.conf").write_text(DAEMON.format(folder=self.folder, uuid=uuid))
        (self.folder / "qemu.conf").write_text(QEMU)

    def address(self, driver: str) -> str:
        """Of the daemon, for `test` or `qemu`."""
        path = "/default" if driver == "test" else "/system"
        return f"{driver}+unix://{path}?socket={self.socket}"

    def command(self) -> Sequence[str | Path]:
        alone = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        said = [f"HOST={self.node}", f"FOLDERS={' '.join(FOLDERS)}"]
        return [*alone, "env", *said, "sh", "-c", FIRST]

    def ready(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.socket))
            except OSError:
                return False
        return self._answers()

    def _answers(self) -> bool:
        """Its socket is there before it answers, and a connection made in between may be reset."""
        try:
            libvirt.open(self.address("test")).close()
        except libvirt.libvirtError:
            return False
        return True

    def stop(self) -> None:
        raise NotImplementedError("its namespaces end with a kill, and nothing else does")

    def daemon(self) -> int | None:
        """The pid of the daemon itself, which has a parent that starts it again."""
        for first in children(self.pid):
            for pid in children(first):
                if status(Path("/proc") / str(pid)).get("Name") == "libvirtd":
                    return pid
        return None

    def crash(self) -> None:
        """The daemon is killed, and stays away. What it runs goes on running."""
        self.held.touch()
        if (pid := self.daemon()) is not None:
            signal_process(pid, signal.SIGKILL)
        wait_until(lambda: self.daemon() is None and not self.ready(), "the daemon to end")

    def freeze(self) -> None:
        """The daemon is there, and says nothing."""
        if (pid := self.daemon()) is not None:
            signal_process(pid, signal.SIGSTOP)

    def heal(self) -> None:
        """The daemon is there and answers."""
        self.held.unlink(missing_ok=True)
        if (pid := self.daemon()) is not None:
            signal_process(pid, signal.SIGCONT)
        wait_until(self.ready, "the daemon to be there again")
