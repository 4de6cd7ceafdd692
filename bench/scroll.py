"""Twenty thousand members of one parent in the tree of the console, scrolled from top to bottom."""

from __future__ import annotations

import asyncpg
from playwright.async_api import Page

from bench.console import heap, window
from bench.figure import Figure, middle
from bench.ground import CELL, Stead, add_group, postgres
from stead.dev.engines import Nats
from tests.lanes import with_every_lane

FRAME = 100.0
"""Milliseconds: what takes longer is seen as a halt."""
MEMORY = 64.0
"""Megabytes."""
ROW = 36
"""Pixels."""
STEP = 20
"""Rows in a frame: twelve hundred a second, if there are sixty of them."""
PARENT = "/bench/rows/all"

FILL = """
INSERT INTO resources (path, kind, state, fence, lane, token, spec)
SELECT $1 || '/' || lpad(i::text, 6, '0'), 'vm', (ARRAY['Running', 'Suspended', 'Failed'])[1 + i % 3], 1, 'sim.rows',
       gen_random_uuid(), '{}'
  FROM generate_series(0, $2::int - 1) i
"""
COUNTS = """
INSERT INTO counts (path, kind, state, members)
SELECT above, 'vm', state, count(*) FROM resources, unnest(ARRAY['/bench', '/bench/rows', $1]) above
 WHERE kind = 'vm' GROUP BY 1, 3
"""

SCROLL = """
async ([rows, row, step]) => {
    const box = document.querySelector('[data-testid=tree]');
    const frame = () => new Promise(requestAnimationFrame);
    const took = [];
    let last = await frame();
    const end = last + 120000;
    while (box.scrollHeight < rows * row || box.scrollTop + box.clientHeight < box.scrollHeight - 1) {
        box.scrollTop += step * row;
        const now = await frame();
        took.push(now - last);
        last = now;
        if (now > end) throw new Error(`only ${box.scrollHeight / row} rows came`);
    }
    return took;
}
"""


async def measure(small: bool) -> list[Figure]:
    """On a page that unfolds one long list."""
    rows = 5_000 if small else 20_000
    with postgres() as server, Nats() as nats:
        dsn = server.create_database("rows")
        await with_every_lane(dsn)
        await _filled(dsn, rows)
        with Stead("server", "server", "--database", dsn, "--nats", nats.url, "--cell", CELL) as one:
            async with window() as page:
                cdp = await page.context.new_cdp_session(page)
                await cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
                frames = await _scrolled(page, one.url, rows)
                told = (await cdp.send("Performance.getMetrics"))["metrics"]
                worked = next(float(metric["value"]) for metric in told if metric["name"] == "TaskDuration")
                megabytes = await heap(page)
    slow = sum(frame > 50 for frame in frames)
    detail = {
        "frames": len(frames),
        "of them above 50 ms": slow,
        "ms in the middle": round(middle(frames), 1),
        "ms of work for each, whatever else the machine does": round(1000 * worked / len(frames), 1),
    }
    beside = f"{rows:,} rows below one parent"
    return [
        Figure("console worst frame", max(frames), "ms while it scrolls", beside, FRAME, True, detail),
        Figure("console rows", megabytes, "MB in the end", beside, MEMORY, True),
    ]


async def _filled(dsn: str, rows: int) -> None:
    await add_group(dsn, "/bench/rows", "mci", "Running")
    await add_group(dsn, PARENT, "subgroup", "Running")
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(FILL, PARENT, rows)
        await connection.execute(COUNTS, PARENT)
        await connection.execute("ANALYZE")
    finally:
        await connection.close()


async def _scrolled(page: Page, url: str, rows: int) -> list[float]:
    """Milliseconds that each frame took, from the first row to the last."""
    await page.goto(f"{url}/console/tree{PARENT}")
    await page.wait_for_selector(f"[data-path^='{PARENT}/']")
    frames: list[float] = await page.evaluate(SCROLL, [rows, ROW, STEP])
    last = await page.locator("[data-testid=tree] [data-path]").last.get_attribute("data-path")
    assert last is not None
    assert last.startswith(f"{PARENT}/")
    return frames
