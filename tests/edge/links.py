"""Bad links, for real: a network namespace for each place, joined by a middle through which every packet goes.

The cell is in one namespace, the hub; agents are in others, each with whatever their sites have. In the middle, which
is a namespace of its own, packets are forwarded, dropped by iptables, or handed to a program that delays, reorders
and repeats them. Nothing of it touches the machine's own network. When it is over, or whoever made it has died, all
of it is removed again, by name.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from stead.dev.children import wait_until

ROOT = Path(__file__).parents[2]

HUB = "10.77.0.2"
"""The cell, as sites see it."""

KEEPER = """
while read -r line; do :; done
for name in "$@"; do ip netns del "$name"; done
"""


@dataclass(frozen=True)
class Link:
    """What one link is like."""

    cut: str = ""
    """Nothing gets through: `both` ways, `up` to the cell, or `down` to the site."""
    loss: float = 0.0
    """The part of packets that are dropped."""
    delay: float = 0.0
    jitter: float = 0.0
    duplicate: float = 0.0

    @property
    def queued(self) -> bool:
        return bool(self.delay or self.jitter or self.duplicate)


WELL = Link()


class Links:
    """The hub, the middle, and so many places behind links."""

    def __init__(self, places: int, seed: int = 1, *, clear: Sequence[int] = ()) -> None:
        """`clear` are ports that always get through, for whoever looks from behind."""
        self.places = places
        self.seed = seed
        self.clear = clear
        run = secrets.token_hex(3)
        self.hub, self.middle = f"st{run}-hub", f"st{run}-mid"
        self.names = [f"st{run}-{n}" for n in range(places)]
        self.usual = WELL
        """What links are like that nothing has struck."""
        self.states = [WELL] * places
        self.lost: Counter[str] = Counter()
        """Packets that were dropped, by what did it."""
        self.counts: dict[str, int] = {}
        """What the queues have done, once they are closed."""

    def __enter__(self) -> Self:
        every = [self.hub, self.middle, *self.names]
        self.keeper = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "keeper", *every],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            for name in every:
                _run("ip", "netns", "add", name)
                _run("ip", "-n", name, "link", "set", "lo", "up")
            for number, name in enumerate([self.hub, *self.names]):
                self._join(name, number)
            _within(self.middle, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
            self._rules()
            self.queue = subprocess.Popen(
                [*within(self.middle), sys.executable, "-m", "tests.edge.queue", str(self.places), str(self.seed)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=ROOT,
                text=True,
                start_new_session=True,
            )
            assert self.queue.stdout is not None
            assert self.queue.stdout.readline() == "ready\n", "the queues are not there"
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._remove()

    def close(self) -> None:
        """No link is bad any more, and what was done to them is known. It may be repeated."""
        if self.queue.poll() is not None:
            return
        if self.queue.stdin is not None and self.queue.stdout is not None:
            self._count(range(self.places))
            with suppress(BrokenPipeError):
                self.queue.stdin.close()
            said = self.queue.stdout.read()
            self.counts = json.loads(said) if said else {}
            self.queue.stdout.close()
        self.queue.wait(60)

    def _remove(self) -> None:
        assert self.keeper.stdin is not None
        self.keeper.stdin.close()
        self.keeper.wait(60)

    def _join(self, name: str, number: int) -> None:
        """One place and the middle, with a subnet of their own."""
        near, far = f"veth{number}", f"far{number}"
        _run("ip", "-n", self.middle, "link", "add", "name", near, "type", "veth", "peer", "name", far)
        _run("ip", "-n", self.middle, "link", "set", far, "netns", name)
        for where, device, last in ((self.middle, near, 1), (name, far, 2)):
            _run("ip", "-n", where, "addr", "add", f"10.77.{number}.{last}/30", "dev", device)
            _run("ip", "-n", where, "link", "set", device, "up")
        _run("ip", "-n", name, "route", "add", "default", "via", f"10.77.{number}.1")

    def _rules(self) -> None:
        """A chain for each link, empty while it is well."""
        lines = ["*filter", ":FORWARD ACCEPT [0:0]"]
        lines += [f":link{n} - [0:0]" for n in range(self.places)]
        for port in self.clear:
            lines += [f"-A FORWARD -p tcp --{side} {port} -j ACCEPT" for side in ("sport", "dport")]
        for n in range(self.places):
            lines += [f"-A FORWARD -{way} veth{n + 1} -j link{n}" for way in "io"]
        self._load(lines)

    def _load(self, lines: Sequence[str]) -> None:
        text = "\n".join([*lines, "COMMIT", ""])
        _within(self.middle, "iptables-restore", "--noflush", "--wait", given=text)

    def address(self, place: int) -> str:
        """A place, as the cell sees it."""
        return f"10.77.{place + 1}.2"

    def set(self, place: int, link: Link) -> None:
        """What a link is like from now on."""
        assert self.queue.stdin is not None
        self._count([place])
        self.states[place] = link
        weather = {"link": place, "delay": link.delay, "jitter": link.jitter, "duplicate": link.duplicate}
        self.queue.stdin.write(json.dumps(weather) + "\n")
        self.queue.stdin.flush()
        rules = []
        if link.cut:
            ways = {"both": "io", "up": "i", "down": "o"}[link.cut]
            rules += [f"-A link{place} -{way} veth{place + 1} -j DROP" for way in ways]
        if link.loss:
            rules.append(f"-A link{place} -m statistic --mode random --probability {link.loss:.4f} -j DROP")
        if link.queued:
            rules.append(f"-A link{place} -j NFQUEUE --queue-num {place} --queue-bypass")
        self._load(["*filter", f":link{place} - [0:0]", f"-F link{place}", *rules])

    def heal(self, *places: int) -> None:
        """Links are as usual again; all of them, if none is named."""
        for place in places or range(self.places):
            if self.states[place] is not self.usual:
                self.set(place, self.usual)

    def _count(self, places: Sequence[int]) -> None:
        """Remember what was dropped before the rules that did it are gone."""
        for place in places:
            state = self.states[place]
            if state.cut or state.loss:
                said = _within(self.middle, "iptables", "--wait", "-nvxL", f"link{place}")
                for words in (line.split() for line in said.splitlines()[2:]):
                    if words[2:3] == ["DROP"]:
                        self.lost["lost" if "statistic" in words else "cut off"] += int(words[0])

    def enter(self) -> None:
        """This thread, and whatever it starts from now on, is at the hub; let it be the only one of its process."""
        with Path(f"/run/netns/{self.hub}").open() as name:
            os.setns(name.fileno(), os.CLONE_NEWNET)


def within(name: str) -> list[str]:
    """What a command begins with that runs in a namespace; its process has the number of the one that was started."""
    return ["nsenter", f"--net=/run/netns/{name}", "--"]


def possible() -> str:
    """Why this machine cannot have such links; empty where it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [name for name in ("ip", "iptables-restore", "nsenter") if not _there(name)]
    return f"{', '.join(missing)} missing" if missing else ""


def _there(name: str) -> bool:
    return any((Path(folder) / name).exists() for folder in os.environ.get("PATH", "").split(os.pathsep))


def gone(links: Links) -> None:
    """Wait until nothing of it is there any more."""
    names = [links.hub, links.middle, *links.names]
    wait_until(lambda: not any(Path(f"/run/netns/{name}").exists() for name in names), "the namespaces to go")


def _run(*command: str, given: str | None = None) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, input=given, timeout=60)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _within(name: str, *command: str, given: str | None = None) -> str:
    return _run(*within(name), *command, given=given)
