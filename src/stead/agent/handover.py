"""An agent is replaced by one of another version, while both run.

The old one starts the new one. The new one says hello; when the controller has let it in, and it can say what the
site has, it ends the old one and says that it has taken over. Until then the old one goes on serving, and where the
new one does not come that far the old one ends it and says why. Only one of them can end the other: they take turns.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from stead import __version__
from stead.agent.session import AgentSession
from stead.agent.versions import InstalledVersions, UnknownVersion
from stead.bus import BusError
from stead.bus.messages import KnownSite, Report, ReportResult, SiteRequest
from stead.drivers.base import Driver
from stead.lifecycle.snapshot import FIRST

log = logging.getLogger(__name__)

INIT_OK = "InitOk"
"""The state of a site whose controller has answered the new agent."""

TAKEOVER_TIMEOUT = 60.0
"""Seconds for the new agent to take over."""

END_TIMEOUT = 10.0
"""Seconds for the old one to end when it is told to; then it is killed."""

POLL_INTERVAL = 0.3

MAX_LOG_CHARS = 500
"""Characters of what a failed agent said last."""


class HandoverRejected(Exception):
    """A new agent was not let in."""


class Handover:
    """How agents of a machine replace each other."""

    def __init__(
        self, folder: Path, arguments: Sequence[str], succeeds: int = 0, patience: float = TAKEOVER_TIMEOUT
    ) -> None:
        """`arguments` are those that an agent is started with; `succeeds` is the process that this one replaces."""
        self.versions = InstalledVersions(folder)
        self.arguments = list(arguments)
        self.succeeds = succeeds
        self.patience = patience

    async def hand_over(self, version: str) -> str:
        """Start an agent of another version and be ended by it; otherwise, why it did not come to that."""
        try:
            program = self.versions.program(version)
        except UnknownVersion as error:
            return str(error)
        said = self.versions.folder / f"{version}.log"
        with said.open("wb") as out:
            try:
                child = await asyncio.create_subprocess_exec(
                    program, *self.arguments, "--succeeds", str(os.getpid()),
                    stdout=out, stderr=out, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                return f"the agent of version {version} could not be started: {error}"
        try:
            why = await self._outcome(child, version, said)
            await self._end(child, END_TIMEOUT)
        except asyncio.CancelledError:  # told to end, perhaps by the new one, whose turn it is then
            await asyncio.shield(self._end(child, 0.0))
            raise
        return why

    async def _outcome(self, child: asyncio.subprocess.Process, version: str, said: Path) -> str:
        """What became of the new agent; this one goes on only where it failed."""
        try:
            code = await asyncio.wait_for(child.wait(), self.patience)
        except TimeoutError:
            return f"the agent of version {version} did not take over in {self.patience:g} s: {_tail(said)}"
        return f"the agent of version {version} ended with {code}: {_tail(said)}"

    async def _end(self, child: asyncio.subprocess.Process, patience: float) -> None:
        """End the new agent, unless it is about to end this one."""
        async with self.versions.turn(patience) as ours:
            if ours and child.returncode is None:
                with suppress(ProcessLookupError):
                    child.kill()
                await child.wait()

    async def take_over(self, session: AgentSession, drivers: Mapping[str, Driver]) -> None:
        """Be let in as the new agent, end the old one, and say so."""
        word = asyncio.create_task(_announce(session))
        try:
            sites = await self._let_in(session)
            for lane in sites:
                await drivers[lane].inventory()
            async with self.versions.turn(END_TIMEOUT) as ours:
                if not ours:
                    raise HandoverRejected("the old agent has given this one up")
                await _end_parent(self.succeeds)
                self.succeeds = 0
                self.versions.choose(__version__)
                _tell_init()
        finally:
            word.cancel()
        for lane, site in sites.items():
            await session.bus.publish_report(
                Report(
                    agent=session.name, epoch=session.epoch, order=0, lane=lane, successor=True,
                    results=[ReportResult(site.path, FIRST, "succeeded", facts={"version": __version__})],
                )
            )  # fmt: skip

    async def _let_in(self, session: AgentSession) -> dict[str, KnownSite]:
        """The sites that have let this agent in, once one has."""
        await session.say_hello(successor=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience):
                while True:
                    with suppress(BusError):
                        known = (await session.bus.site(SiteRequest(agent=session.name, lanes=session.lanes))).sites
                        sites = {site.lane: site for site in known if site.state == INIT_OK}
                        if sites:
                            return sites
                    await asyncio.sleep(POLL_INTERVAL)
        raise HandoverRejected("no controller has let the new agent in")


async def _announce(session: AgentSession) -> None:
    """Say that the new agent is there, until it is the only one."""
    while True:
        with suppress(BusError):
            await session.announce(successor=True)
        await asyncio.sleep(session.presence_interval)


async def _end_parent(pid: int) -> None:
    """End the process that started this one; a number alone could by now be somebody else's."""
    loop = asyncio.get_running_loop()
    began, killed = loop.time(), False
    while pid and os.getppid() == pid:
        if loop.time() == began or (not killed and loop.time() - began > END_TIMEOUT):
            killed = loop.time() > began
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if killed else signal.SIGTERM)
        await asyncio.sleep(0.05)


def _tell_init() -> None:
    """Where systemd keeps the agent: from now on this is the process to keep."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.connect(f"\0{address[1:]}" if address.startswith("@") else address)
            notify.send(f"MAINPID={os.getpid()}".encode())


def _tail(file: Path) -> str:
    text = file.read_text(errors="replace").strip()
    return " ".join(text[-MAX_LOG_CHARS:].split()) or "it said nothing"
