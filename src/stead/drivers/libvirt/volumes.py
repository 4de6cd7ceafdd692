"""Files that machines have for disks: made empty without taking room, or copied in pieces.

A copy can take longer than a call. What a call has copied stays, and the next one goes on from there.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from stead.drivers.base import PermanentError, RetryableError
from stead.drivers.libvirt.nodes import Call

PIECE = 4 * 2**20
_QCOW2 = b"QFI\xfb"


def make(file: Path, size: int) -> None:
    """An empty one, or the same one grown; never a smaller one."""
    with file.open("ab") as out:
        if out.tell() < size:
            out.truncate(size)


def copy(source: Path, target: Path, call: Call) -> str:
    """A copy, which is there once it is whole; its format."""
    try:
        with source.open("rb") as there:
            if not target.exists():
                _go_on(there.fileno(), source, target, call)
            return format_of(source)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise PermanentError(f"{source} cannot be read: {error.strerror}") from error


def format_of(file: Path) -> str:
    """`qcow2` or `raw`."""
    with file.open("rb") as opened:
        return "qcow2" if opened.read(len(_QCOW2)) == _QCOW2 else "raw"


def remove(file: Path) -> None:
    """Nothing is left of it, nor of copies that never became whole."""
    for part in file.parent.glob(f"{file.name}.*.part"):
        part.unlink(missing_ok=True)
    file.unlink(missing_ok=True)


def _go_on(source_fd: int, source: Path, target: Path, call: Call) -> None:
    stat = source.stat()
    stamp = hashlib.sha256(f"{source} {stat.st_size} {stat.st_mtime_ns} {stat.st_ino}".encode()).hexdigest()[:8]
    part = target.with_name(f"{target.name}.{stamp}.part")
    with open(source_fd, "rb", closefd=False) as there, part.open("ab") as out:
        there.seek(out.tell())
        while piece := there.read(PIECE):
            if call.left <= 0:
                raise RetryableError("it is still being copied", after=0.1)
            if piece.count(0) == len(piece):
                out.truncate(out.tell() + len(piece))  # holes stay holes
                out.seek(0, 2)
            else:
                out.write(piece)
                out.flush()
    part.replace(target)
    remove_parts = [left for left in target.parent.glob(f"{target.name}.*.part") if left != part]
    for left in remove_parts:
        left.unlink(missing_ok=True)
