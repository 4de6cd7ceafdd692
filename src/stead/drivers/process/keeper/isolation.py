"""What keeps an app apart from the rest of the machine: namespaces, mounts, control groups.

Only the standard library is used here, and little of it: there is a keeper for every app.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import struct

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1

_libc = ctypes.CDLL(None, use_errno=True)


def leave(net: str) -> None:
    """Out of the machine's namespaces: what is forked next is the first process of its own.

    Who may not have them gets them within a namespace of users, where the kernel allows that. Raises
    `PermissionError` where it does not.
    """
    if net:
        enter(net)
    flags = os.CLONE_NEWPID | os.CLONE_NEWUTS | os.CLONE_NEWIPC
    user, group = os.geteuid(), os.getegid()
    try:
        os.unshare(flags)
    except PermissionError:
        os.unshare(flags | os.CLONE_NEWUSER)
        _say("/proc/self/setgroups", "deny")
        _say("/proc/self/uid_map", f"{user} {user} 1")
        _say("/proc/self/gid_map", f"{group} {group} 1")


def furnish(root: str, work: str, tmp: str) -> None:
    """A view of the machine's files of one's own: its processes, its `/tmp`, and nothing of other apps."""
    os.unshare(os.CLONE_NEWNS)
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    here = os.open(work, os.O_PATH | os.O_DIRECTORY)
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _mount(tmp, "/tmp", "", _MS_BIND)
    os.makedirs(root, exist_ok=True)  # noqa: PTH103 (it may be below /tmp)
    _mount("none", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=1m")
    os.makedirs(work)  # noqa: PTH103
    _mount(f"/proc/self/fd/{here}", work, "", _MS_BIND)
    os.close(here)


def join(entrances: list[str]) -> None:
    """Into control groups."""
    for file in entrances:
        _say(file, "0")


def die_with_parent() -> None:
    """The kernel kills this process when the one that started it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt() -> None:
    """Whoever loses its parent below this process becomes its child."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def enter(net: str) -> None:
    """Into the network namespace that is kept at a file."""
    fd = os.open(net, os.O_RDONLY)
    os.setns(fd, os.CLONE_NEWNET)
    os.close(fd)


def keep_net(file: str, up: int) -> None:
    """Make a network namespace that has nothing but loopback, and keep it at a file.

    `up` is any socket's descriptor that was opened after `os.unshare(os.CLONE_NEWNET)`.
    """
    fcntl.ioctl(up, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))
    _mount("/proc/self/ns/net", file, "", _MS_BIND)


def drop_net(file: str) -> None:
    """It goes with the last process in it."""
    _libc.umount2(os.fsencode(file), 2)


def name(host: str) -> None:
    """Of the machine, as the app sees it."""
    said = host.encode("ascii", "replace")[:63]
    _libc.sethostname(said, len(said))


def _say(file: str, text: str) -> None:
    fd = os.open(file, os.O_WRONLY)
    os.write(fd, text.encode())
    os.close(fd)


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    done = _libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode())
    if done != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"mount of {target}: {os.strerror(code)}")
