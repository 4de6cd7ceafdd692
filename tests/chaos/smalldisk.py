"""A small file system in memory, which can be filled."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from stead.dev.children import Server

MEGABYTES = 1024


def possible() -> bool:
    """Whether one can be mounted."""
    return os.geteuid() == 0 and shutil.which("mount") is not None


@contextmanager
def under(server: Server) -> Iterator[None]:
    """What a server writes goes to one; the server has ended when this is left."""
    where = str(server.folder)
    owner = pwd.getpwnam(server.user) if server.user is not None else pwd.getpwuid(os.geteuid())
    options = f"size={MEGABYTES}m,mode=0700,uid={owner.pw_uid},gid={owner.pw_gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", where], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", where], check=False)
        shutil.rmtree(where, ignore_errors=True)
