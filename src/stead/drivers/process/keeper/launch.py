"""From a keeper to an app and back to nothing: what a forked process does before it is the app, and who sweeps up."""

from __future__ import annotations

import os
import signal
import stat

from stead.drivers.process.keeper import isolation

TYPE_CHECKING = False
if TYPE_CHECKING:  # reading `typing` takes longer than most of what a keeper does
    from typing import Any


def become(run: dict[str, Any], command: list[str], output: int, *, first: bool = False) -> None:
    """The process is the app from now on; it does not come back.

    The first process of an app gets what is in its working folder; nothing of the app runs at that time.
    """
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        isolation.join(run["cgroups"])
        if run["user"] is not None:
            if first:
                hand_over(run["work"], run["user"], run["group"])
            os.fchown(output, run["user"], run["group"])  # or it could not open /dev/stdout
        if run["namespaces"]:
            isolation.furnish(run["root"], run["work"], run["tmp"])
        else:
            os.chdir(run["work"])
        drop(run)
        if not run["namespaces"]:
            isolation.die_with_parent()  # after that: the kernel forgets it when the user changes
        run_program(command, run["env"])
    except Exception as error:
        why = getattr(error, "strerror", None) or repr(error)
        os.write(2, f"stead: {command[0]} cannot be run: {why}\n".encode(errors="replace"))
    finally:
        os._exit(127)


def drop(run: dict[str, Any]) -> None:
    """Be the app's user from now on, if that is not the keeper's own."""
    if run["user"] is None:
        return
    os.setgroups(run["groups"])
    os.setgid(run["group"])
    os.setuid(run["user"])
    if run["confined"]:
        isolation.gain_nothing()


def hand_over(work: str, user: int, group: int) -> None:
    """Give a working folder that belonged to another user, with what that user had in it.

    Links are not followed. A file that has another name elsewhere stays as it is, as does what belongs to others.
    """
    before = os.stat(work, follow_symlinks=False).st_uid  # noqa: PTH116
    if before == user:
        return
    for _, folders, files, fd in os.fwalk(work, topdown=False, follow_symlinks=False):
        for name in (*folders, *files):
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            once = stat.S_ISDIR(found.st_mode) or found.st_nlink == 1
            special = stat.S_ISBLK(found.st_mode) or stat.S_ISCHR(found.st_mode)
            if found.st_uid == before and once and not special:
                os.chown(name, user, group, dir_fd=fd, follow_symlinks=False)
    os.chown(work, user, group, follow_symlinks=False)  # last: who is interrupted begins anew
    os.chmod(work, 0o700)  # noqa: PTH101


def run_program(command: list[str], env: dict[str, str]) -> None:
    """The library's own way to look for a program reads files that the app's user need not be able to read."""
    name, why = command[0], OSError(2, "there is no such program")
    for folder in [""] if "/" in name else env.get("PATH", os.defpath).split(":"):
        try:
            os.execve(f"{folder}/{name}" if folder else name, command, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            why = error
    raise why


def sweep(alone: bool) -> None:
    """End whatever an app has left behind: in a namespace of its own, all the others; else all descendants."""
    while True:
        try:
            if alone:
                os.kill(-1, signal.SIGKILL)
            else:
                for pid in children():
                    os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def children() -> list[int]:
    """Of this process."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:  # noqa: PTH123
        return [int(pid) for pid in file.read().split()]
