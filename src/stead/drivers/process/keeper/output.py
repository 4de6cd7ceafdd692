"""What an app writes, kept in files of which none grows beyond a size."""

from __future__ import annotations

import contextlib
import os

_PIECE = 65_536


class Output:
    """A pipe that an app writes to, and the files that keep it."""

    def __init__(self, folder: str, size: int, files: int) -> None:
        self._path = f"{folder}/log"
        self._size = size
        self._files = files
        self._reads, self.writes = os.pipe()
        """`writes` is for the app; nobody here writes to it."""
        os.set_blocking(self._reads, False)
        self._open()

    def fileno(self) -> int:
        """Readable when there is something to keep."""
        return self._reads

    def pump(self, most: int = 16) -> None:
        """Keep what there is, up to so many pieces: who writes without end must not keep others waiting."""
        for _ in range(most):
            try:
                piece = os.read(self._reads, _PIECE)
            except BlockingIOError:
                return
            self._keep(piece)

    def say(self, line: str) -> None:
        """A line of the keeper's own."""
        self._keep(f"stead: {line}\n".encode(errors="replace"))

    def _keep(self, piece: bytes) -> None:
        while piece:
            fits = self._fits(piece)
            if fits:
                with contextlib.suppress(OSError):  # a full disk ends no app
                    self._has += os.write(self._file, piece[:fits])
            piece = piece[fits:]
            if piece:
                self._rotate()

    def _fits(self, piece: bytes) -> int:
        """How much of it has room in the file: whole lines, if there is one."""
        room = max(0, self._size - self._has)
        if len(piece) <= room:
            return len(piece)
        return piece.rfind(b"\n", 0, room) + 1 or (0 if self._has else room)

    def _rotate(self) -> None:
        os.close(self._file)
        for number in range(self._files - 1, 0, -1):
            older = f"{self._path}.{number}"
            newer = f"{self._path}.{number - 1}" if number > 1 else self._path
            with contextlib.suppress(FileNotFoundError):
                os.rename(newer, older)  # noqa: PTH104
        if self._files == 1:
            os.truncate(self._path, 0)
        self._open()

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._has = os.fstat(self._file).st_size
