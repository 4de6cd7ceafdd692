"""An agent: it does at a provider what it is told to."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stead.agent import build
from stead.agent.build import InvalidSettings, UnknownCell
from stead.agent.handover import Handover
from stead.agent.site import SiteStateUnavailable
from stead.agent.supersession import SiteForgotten, SupersededRun
from stead.cli.processes import running
from stead.cli.processes.running import Metrics
from stead.pki.identity import Identity

__all__ = ["InvalidSettings", "SiteForgotten", "SiteStateUnavailable", "SupersededRun", "UnknownCell", "run"]

GRACE = 5.0
"""Seconds that it has to end in order when it is told to."""


def run(
    nats: str,
    cell: str,
    name: str,
    lanes: Sequence[str],
    driver: str,
    settings: Mapping[str, Any],
    identity: Identity | None = None,
    *,
    domain: str | None = None,
    leaf: str | None = None,
    versions: Path | None = None,
    succeeds: int = 0,
    metrics: Metrics | None = None,
) -> None:
    """An agent for some lanes; one of another version can replace it where `versions` has one.

    Raises `SiteFailed` where it cannot be said what a site has, `SupersededRun` where a newer run of the agent has
    taken the place of this one, `SiteForgotten` where the site was forgotten.
    """
    running.expose(metrics, wait=bool(succeeds))
    config = {lane: build.lane_config(driver, lane, settings) for lane in lanes}
    handover = Handover(versions, _own_words(), succeeds) if versions is not None else None
    try:
        running.run(_until_signalled(build.run(nats, cell, name, config, identity, handover, domain, leaf)))
    except BaseExceptionGroup as group:
        forgotten = group.subgroup(SiteForgotten)
        if forgotten is not None:
            raise SiteForgotten(str(next(_each(forgotten)))) from None
        superseded = group.subgroup(SupersededRun)
        if superseded is not None:
            raise SupersededRun(str(next(_each(superseded)))) from None
        failed, others = group.split(SiteStateUnavailable)
        if failed is None or others is not None:
            raise
        raise SiteStateUnavailable("; ".join(map(str, _each(failed)))) from None


def _own_words() -> list[str]:
    """What this agent was told, without whom it has replaced."""
    words = sys.argv[1:]
    if "--succeeds" in words:
        at = words.index("--succeeds")
        del words[at : at + 2]
    return words


def _each(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    """What is in a group, however deep."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _each(error)
        else:
            yield error


async def _until_signalled(program: Coroutine[Any, Any, None]) -> None:
    """Run until the end, or until a signal, which the first process of a container does not die of by itself.

    A call to a provider may take long and is not awaited: the next agent of the lane probes its outcome.
    """
    running, signalled = asyncio.ensure_future(program), threading.Event()

    def end() -> None:
        signalled.set()
        running.cancel()
        last = threading.Timer(GRACE, os._exit, (0,))
        last.daemon = True
        last.start()

    if sys.platform != "win32":
        for word in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(word, end)
    try:
        await running
    except asyncio.CancelledError:
        if not signalled.is_set():
            raise
