"""The console of a cell with a hundred thousand VMs: how soon it is there, whether it keeps up and stays small."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page, async_playwright

from bench.figure import Figure
from bench.fleet import FLEET, Fleet, fleet
from bench.ground import postgres
from bench.status import COUNTS, GROUPS
from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud

PAINT = 1.5
"""Seconds until the overview shows what there is."""
GROWTH = 1.1
"""Times that the memory of a page may grow which has seen all VMs move once, while they all move twice more."""
ABOVE = """
INSERT INTO counts (path, kind, state, members)
SELECT regexp_replace(path, '/[^/]+$', ''), kind, state, members FROM counts WHERE path = $1
"""
ACTIONS = (("suspend", "Suspended"), ("resume", "Running"), ("suspend", "Suspended"))
LAG = 30_000
"""Milliseconds within which the page has to show the end."""


async def measure(small: bool) -> list[Figure]:
    """On a page that is opened, and that then watches three actions on all."""
    vms = 10_000 if small else 100_000
    with postgres() as server, Nats() as nats, SimCloud() as cloud:
        async with fleet(server, nats, cloud, vms, name="console") as cell, window() as page:
            await cell.database.execute(GROUPS)
            await cell.database.execute(COUNTS, FLEET)
            await cell.database.execute(ABOVE, FLEET)
            await asyncio.sleep(vms / 5_000)  # agents tell what is there
            paint = await _opened(page, cell, vms)
            cold = await heap(page)
            took, lags, heaps = [], [], []
            for action, state in ACTIONS:
                took.append(await cell.act(action, state))
                lags.append(await _shown(page, f"{state}{vms:,}", f"{state} {vms:,}"))
                heaps.append(await heap(page))
    beside = f"{vms:,} VMs in the store"
    rates = {
        "moves a second, the slowest action": round(2 * vms / max(took)),
        "MB when it was opened": round(cold, 2),
    }
    warm = {f"MB after {n + 1}": round(megabytes, 2) for n, megabytes in enumerate(heaps)}
    return [
        Figure("console paint", paint, "s to the overview", beside, PAINT, True),
        Figure(
            "console growth", heaps[-1] / heaps[0], "times the memory", "a first action", GROWTH, True, rates | warm
        ),
        Figure("console lag", max(lags), "s behind the end", "actions on all of them", 2.0, True),
    ]


@asynccontextmanager
async def window() -> AsyncIterator[Page]:
    """A page of a browser that knows nothing yet."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("bench console: no browser is installed (apt install chromium)")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield await chromium.new_page()
        await chromium.close()


async def _opened(page: Page, cell: Fleet, vms: int) -> float:
    """Seconds from nothing, with nothing in any cache, to the numbers."""
    began = time.perf_counter()
    await page.goto(f"{cell.server.url}/console/", wait_until="commit")
    await _shown(page, f"Running{vms:,}", f"Running {vms:,}")
    return time.perf_counter() - began


async def _shown(page: Page, *texts: str) -> float:
    """Seconds until one of these stands among the counts."""
    began = time.perf_counter()
    await page.wait_for_function(
        "texts => { const card = document.querySelector('[data-testid=counts]');"
        " return card && texts.some((text) => card.innerText.replace(/\\s+/g, ' ').includes(text)); }",
        arg=list(texts),
        timeout=LAG,
    )
    return time.perf_counter() - began


async def heap(page: Page) -> float:
    """Megabytes that are in use after what is not has gone."""
    cdp = await page.context.new_cdp_session(page)
    for _ in range(2):  # what is freed by the first time may hold what only the second one frees
        await cdp.send("HeapProfiler.collectGarbage")
    used = float((await cdp.send("Runtime.getHeapUsage"))["usedSize"]) / 1e6
    await cdp.detach()
    return used
