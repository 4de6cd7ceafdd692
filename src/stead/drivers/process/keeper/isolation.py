"""What keeps an app apart from the rest of the machine: namespaces, mounts, control groups.

Only the standard library is used here, and little of it: there is a keeper for every app.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import struct

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


def leave(net: str, user: int | None = None, groups: list[int] | None = None) -> None:
    """Out of the machine's namespaces: what is forked next is the first process of its own.

    Who may not have them gets them within a namespace of users, where the kernel allows that. Raises
    `PermissionError` where it does not. Besides the keeper's own, that namespace has the app's user and groups.
    """
    if net:
        enter(net)
    flags = os.CLONE_NEWPID | os.CLONE_NEWUTS | os.CLONE_NEWIPC
    try:
        os.unshare(flags)
    except PermissionError:
        if user is None:
            own, group = os.geteuid(), os.getegid()
            os.unshare(flags | os.CLONE_NEWUSER)
            _say("/proc/self/setgroups", "deny")
            _say("/proc/self/uid_map", _same([own]))
            _say("/proc/self/gid_map", _same([group]))
        else:
            _leave_with(flags | os.CLONE_NEWUSER, [os.geteuid(), user], [os.getegid(), *(groups or [])])


def _leave_with(flags: int, users: list[int], groups: list[int]) -> None:
    """Into a namespace that has several users. Only a process that stays outside may say which."""
    me = os.getpid()
    inside, left = os.pipe()
    helper = os.fork()
    if helper == 0:
        code = 1
        try:
            os.close(left)
            if os.read(inside, 1):
                _say(f"/proc/{me}/gid_map", _same(groups))
                _say(f"/proc/{me}/uid_map", _same(users))
                code = 0
        finally:
            os._exit(code)
    os.close(inside)
    try:
        os.unshare(flags)
        os.write(left, b"x")
    finally:
        os.close(left)
        _, status = os.waitpid(helper, 0)
    if status != 0:
        raise PermissionError(1, "the users of a namespace cannot be set")


def _same(ids: list[int]) -> str:
    """A map in which ids inside are what they are outside."""
    return "\n".join(f"{id} {id} 1" for id in sorted({*ids}))


def furnish(root: str, work: str, tmp: str) -> None:
    """A view of the machine's files of one's own: its processes, its `/tmp`, and nothing of other apps. The working
    folder is the current one afterwards.

    The root may be below `/tmp`, in which apps of the namespace can put links while this goes on. So each folder is
    opened in the one above it, never by a path, and no link is followed.
    """
    os.unshare(os.CLONE_NEWNS)
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    here = os.open(work, _FOLDER)
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _mount(tmp, "/tmp", "", _MS_BIND)
    above, _, name = root.rpartition("/")
    parent = _walk(os.open("/", _FOLDER), above)
    covered = _step(parent, name)
    _mount("none", f"/proc/self/fd/{covered}", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=1m")
    site = _step(parent, name)
    if os.fstat(site).st_dev == os.fstat(covered).st_dev:
        raise OSError(errno.EBUSY, f"{root} was moved away")
    above, _, name = work.removeprefix(root).rpartition("/")
    inner = _walk(site, above)
    _mount(f"/proc/self/fd/{here}", f"/proc/self/fd/{_step(inner, name)}", "", _MS_BIND)
    os.fchdir(_step(inner, name))
    for fd in (here, parent, covered, inner):
        os.close(fd)


def _walk(fd: int, path: str) -> int:
    """A descriptor of the folder at a path below another, which is closed; what is missing of it is made."""
    for name in filter(None, path.split("/")):
        below = _step(fd, name)
        os.close(fd)
        fd = below
    return fd


def _step(above: int, name: str) -> int:
    """A descriptor of a folder in another, which is made if need be."""
    with contextlib.suppress(OSError):  # it is there; or it cannot be made, which is seen when it is opened
        os.mkdir(name, 0o755, dir_fd=above)
    return os.open(name, _FOLDER, dir_fd=above)


def join(entrances: list[str]) -> None:
    """Into control groups."""
    for file in entrances:
        _say(file, "0")


def die_with_parent() -> None:
    """The kernel kills this process when the one that started it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def gain_nothing() -> None:
    """No program that is run from here on gives more rights than this process has."""
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


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
