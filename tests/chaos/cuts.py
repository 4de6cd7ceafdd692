"""Cuts between processes of this machine: packets between two of them are dropped, and neither is told.

Each process reaches the servers at an address of its own, and iptables leads all of these addresses to the servers.
So a rule for an address and a port is a partition between that process and that server. It needs root and iptables.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from random import SystemRandom
from typing import Self

LOCALHOST = "127.0.0.1"

USERS = "users"
"""Who asks. Controllers answer only those who call them by this machine's own address."""

FIRST, LAST = 64, 250
"""Of the second part of addresses; each run has one of its own."""


def missing() -> str:
    """What has to be there before; nothing where all is."""
    if os.geteuid() != 0:
        return "only root can cut connections"
    if shutil.which("iptables") is None:
        return "iptables is missing"
    try:
        _iptables("-t", "nat", "-L", "OUTPUT", "-n")
    except RuntimeError as error:
        return str(error)
    return ""


class Cuts:
    """The addresses of a cell's processes, and what is cut between them."""

    def __init__(self) -> None:
        self.net = f"127.{SystemRandom().randint(FIRST, LAST)}.{SystemRandom().randint(0, 255)}"
        self.chain = f"chaos-{os.getpid()}-{self.net.rpartition('.')[2]}"
        self._addresses = {USERS: LOCALHOST}

    def __enter__(self) -> Self:
        for table in ("nat", "mangle"):
            _iptables("-t", table, "-N", self.chain)
            _iptables("-t", table, "-I", "OUTPUT", "-d", "127.0.0.0/8", "-j", self.chain)
        to = ["-d", f"{self.net}.0/24", "-p", "tcp", "-j", "DNAT", "--to-destination", LOCALHOST]
        _iptables("-t", "nat", "-A", self.chain, *to)
        return self

    def __exit__(self, *_: object) -> None:
        for table in ("nat", "mangle"):
            _iptables("-t", table, "-D", "OUTPUT", "-d", "127.0.0.0/8", "-j", self.chain)
            _iptables("-t", table, "-F", self.chain)
            _iptables("-t", table, "-X", self.chain)

    def address(self, name: str) -> str:
        """Where a process reaches all servers."""
        return self._addresses.setdefault(name, f"{self.net}.{len(self._addresses) + 1}")

    def seen_by(self, name: str, where: str) -> str:
        """The address of a server, or several, as a process knows it."""
        return where.replace(LOCALHOST, self.address(name))

    @contextmanager
    def between(self, ways: Iterable[tuple[str, int]]) -> Iterator[None]:
        """Cut processes off from ports, in both directions, until this is left."""
        rules = [[self.chain, "-p", "tcp", *_match(self.address(name), port), "-j", "DROP"] for name, port in ways]
        for rule in rules:
            _iptables("-t", "mangle", "-A", *rule)
        try:
            yield
        finally:
            for rule in rules:
                _iptables("-t", "mangle", "-D", *rule)


def _match(address: str, port: int) -> list[str]:
    """Packets of connections that were opened to an address and a port, of either side."""
    return ["-m", "conntrack", "--ctorigdst", address, "--ctorigdstport", str(port)]


def _iptables(*words: str) -> None:
    done = subprocess.run(["iptables", "-w", "60", *words], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"iptables {' '.join(words)}: {done.stderr.strip()}")
