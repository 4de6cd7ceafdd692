"""A running `stead dev`, with the hands of a person on it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from stead.dev.children import alive, children, free_port

STEAD = [sys.executable, "-m", "stead"]


class Trial:
    """A running `stead dev`."""

    def __init__(self, folder: Path, *words: str, env: Mapping[str, str] | None = None) -> None:
        """With an environment, the `stead` that is on its path."""
        self.command = STEAD if env is None else [f"{env['PATH'].split(os.pathsep)[0]}/stead"]
        self.port, self.cloud = free_port(), free_port()
        self.out = folder / f"out-{self.port}"
        self.env = {
            **(env or os.environ),
            "STEAD_SERVER": f"http://127.0.0.1:{self.port}",
            "STEAD_DEV_DATA": str(folder / "kept"),
        }
        ports = ("--port", str(self.port), "--cloud-port", str(self.cloud))
        with self.out.open("wb") as out:
            self.process = subprocess.Popen(
                [*self.command, "dev", "--delay", "0.2", *ports, *words],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self.env,
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def said(self) -> str:
        return self.out.read_text()

    def until(self, true: Callable[[], object], what: str, within: float = 60) -> None:
        end = time.monotonic() + within
        while not true():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < end, f"waited for {what}: {self.said()}"
            time.sleep(0.05)

    def runs(self) -> None:
        # Ten processes whose code was never compiled before: on a slow and busy machine that takes over a minute.
        self.until(lambda: "Ctrl-C ends it" in self.said(), "all to run", within=180)

    def pid(self, part: str) -> int:
        """As it was last told."""
        first = re.search(rf"^  {part} +(\d+)", self.said(), re.M)
        again = re.findall(rf"^{part} is back, process (\d+)", self.said(), re.M)
        assert first is not None
        return int(again[-1] if again else first[1])

    def stead(self, words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *words.split()],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            env=self.env,
            check=False,
        )

    def provider(self, what: str, **body: object) -> None:
        """Ask the simulated cloud itself for something, behind everybody's back."""
        url = f"http://127.0.0.1:{self.cloud}/v1/{what}"
        urllib.request.urlopen(url, json.dumps(body).encode(), timeout=5).close()

    def fault(self, **fault: object) -> None:
        """Set one at the simulated cloud."""
        self.provider("_faults", faults=[fault])

    def heal(self) -> None:
        """It has no faults any more."""
        url = f"http://127.0.0.1:{self.cloud}/v1/_faults"
        urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=5).close()

    def end(self) -> None:
        """As Ctrl-C would; afterwards nothing that it has started runs."""
        below = [self.process.pid]
        for pid in below:
            below += children(pid)
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(60) == 0, self.said()
        assert not [pid for pid in below if alive(pid)]


@contextmanager
def trial(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> Iterator[Trial]:
    one = Trial(folder, *words, env=env)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait(60)
