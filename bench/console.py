"""The console of a cell with a hundred thousand VMs: how soon it is there, whether it keeps up and stays small."""

from __future__ import annotations

import asyncio
import shutil
import time

from playwright.async_api import CDPSession, Page, async_playwright

from bench.figure import Figure
from bench.fleet import FLEET, Fleet, fleet
from bench.ground import postgres
from bench.status import COUNTS, GROUPS
from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud

PAINT = 1.5
"""Seconds until the overview shows what there is."""
GROWTH = 1.5
"""Times that the memory of the page may grow while all VMs move twice."""
ABOVE = """
INSERT INTO counts (path, kind, state, members)
SELECT regexp_replace(path, '/[^/]+$', ''), kind, state, members FROM counts WHERE path = $1
"""
LAG = 30_000
"""Milliseconds within which the page has to show the end."""


async def measure(small: bool) -> list[Figure]:
    """On a page that is opened, and that then watches an action on all."""
    vms = 5_000 if small else 100_000
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("bench console: no browser is installed (apt install chromium)")
    with postgres() as server, Nats() as nats, SimCloud() as cloud:
        async with fleet(server, nats, cloud, vms, name="console") as cell, async_playwright() as playwright:
            await cell.database.execute(GROUPS)
            await cell.database.execute(COUNTS, FLEET)
            await cell.database.execute(ABOVE, FLEET)
            await asyncio.sleep(vms / 5_000)  # agents tell what is there
            chromium = await playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = await chromium.new_page()
            paint = await _opened(page, cell, vms)
            cdp = await page.context.new_cdp_session(page)
            before = await _heap(cdp)
            began = time.perf_counter()
            await cell.act("suspend", "Suspended")
            took = time.perf_counter() - began
            lag = await _shown(page, f"Suspended{vms:,}", f"Suspended {vms:,}")
            after = await _heap(cdp)
            await chromium.close()
    beside = f"{vms:,} VMs in the store"
    detail = {"moves a second": round(2 * vms / took), "MB before": round(before, 1), "MB after": round(after, 1)}
    return [
        Figure("console paint", paint, "s to the overview", beside, PAINT, True),
        Figure("console growth", after / before, "times the memory", "before it", GROWTH, True, detail),
        Figure("console lag", lag, "s behind the end", "an action on all of them", 2.0, True),
    ]


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


async def _heap(cdp: CDPSession) -> float:
    """Megabytes that are in use after what is not has gone."""
    await cdp.send("HeapProfiler.collectGarbage")
    return float((await cdp.send("Runtime.getHeapUsage"))["usedSize"]) / 1e6
