"""From a keeper to an app and back to nothing: what a forked process does before it is the app, and who sweeps up."""

from __future__ import annotations

import os
import signal

from stead.drivers.process.keeper import isolation

TYPE_CHECKING = False
if TYPE_CHECKING:  # reading `typing` takes longer than most of what a keeper does
    from typing import Any


def become(run: dict[str, Any], command: list[str], output: int) -> None:
    """The process is the app from now on; it does not come back."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        isolation.join(run["cgroups"])
        if run["namespaces"]:
            isolation.furnish(run["root"], run["work"], run["tmp"])
        else:
            isolation.die_with_parent()
        os.chdir(run["work"])
        if run["user"] is not None:
            os.setgroups([])
            os.setgid(run["user"])
            os.setuid(run["user"])
        run_program(command, run["env"])
    except Exception as error:
        why = getattr(error, "strerror", None) or repr(error)
        os.write(2, f"stead: {command[0]} cannot be run: {why}\n".encode(errors="replace"))
    finally:
        os._exit(127)


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
