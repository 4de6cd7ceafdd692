"""What a server counts, and what it says of the cell."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvloop
from prometheus_client import CollectorRegistry, Gauge, Metric
from prometheus_client.parser import text_string_to_metric_families

from stead.controller.health.gauges import Gauges
from stead.store import Store
from stead.telemetry import metrics
from stead.telemetry.exposition import exposition, merged, scrape_socket, serve_socket
from tests.api.cell import Cell

VM = {"kind": "vm", "spec": {"provider": "sim", "region": "a"}}


def families(text: str) -> Iterator[Metric]:
    return iter(text_string_to_metric_families(text))


def value(text: str, name: str, **labels: str) -> float:
    """The sum of what has these labels."""
    found = [
        sample.value
        for family in families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return sum(found)


def scrape(web: httpx.Client) -> str:
    answer = web.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return answer.text


def test_requests_are_counted_by_route_and_status(web: httpx.Client, ns: str) -> None:
    before = scrape(web)
    web.post(f"/v1/resources/{ns}/one", json=VM)
    web.get(f"/v1/resources/{ns}/none")
    web.get("/not/a/route")
    after = scrape(web)

    def more(**labels: str) -> float:
        name = "stead_http_requests_total"
        return value(after, name, **labels) - value(before, name, **labels)

    assert more(method="POST", route="/v1/resources/{path}", status="202") == 1
    assert more(method="GET", route="/v1/resources/{path}", status="404") == 1
    assert more(route="none", status="404") == 1
    assert value(after, "stead_http_response_seconds_count", route="/v1/resources/{path}", method="POST") >= 1


def test_admissions_are_counted_by_answer(cell: Cell, web: httpx.Client, ns: str) -> None:
    before = scrape(web)
    web.post(f"/v1/resources/{ns}/one", json=VM)
    refused = web.post(f"/v1/resources/{ns}/one?action=suspend")
    assert refused.status_code == 409
    after = scrape(web)
    assert (
        value(after, "stead_admissions_total", answer="accepted")
        - value(before, "stead_admissions_total", answer="accepted")
        == 1
    )
    code = refused.json()["type"].rpartition(":")[2]
    assert value(after, "stead_admissions_total", code=code) - value(before, "stead_admissions_total", code=code) == 1


def test_no_label_says_what_somebody_has_chosen(web: httpx.Client, ns: str) -> None:
    web.post(f"/v1/resources/{ns}/secretname", json=VM, headers={"X-Name": "cardinal"})
    web.get(f"/v1/resources/{ns}/secretname")
    web.request("BREW", f"/v1/resources/{ns}/secretname")
    text = scrape(web)
    assert ns not in text
    assert "secretname" not in text
    assert "cardinal" not in text
    assert "BREW" not in text


def test_what_the_cell_says_is_what_is_in_its_database(cell: Cell, web: httpx.Client, ns: str) -> None:
    web.post(f"/v1/resources/{ns}/one", json=VM)
    gauges = Gauges(cell.store, every=0)
    cell.run(gauges.refresh())
    under_way = cell.run(cell.store.diagnostics.read_gauges(10_000, 30))["operations"][0]
    text = exposition()
    assert value(text, "stead_operations_in_progress") == under_way >= 1
    assert value(text, "stead_orders_untaken") >= 1
    assert value(text, "stead_lanes_unserved") >= 1, "no agent is there"
    assert value(text, "stead_database_up") == 1


class Slow:
    """Counts how often it is asked, and may fail."""

    def __init__(self, store: Store) -> None:
        self.store, self.asked, self.fails = store, 0, False
        self.diagnostics = self

    async def read_gauges(self, most: int, there: float) -> Any:
        self.asked += 1
        if self.fails:
            raise ConnectionRefusedError
        return await self.store.diagnostics.read_gauges(most, there)


def test_however_many_ask_the_database_is_read_once(cell: Cell) -> None:
    slow = Slow(cell.store)
    gauges = Gauges(slow, every=60)  # type: ignore[arg-type]

    async def many() -> None:
        await asyncio.gather(*(gauges.refresh() for _ in range(20)))

    cell.run(many())
    assert slow.asked == 1


def samples() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample of every gauge."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families(exposition())
        if family.type == "gauge" and family.name.startswith("stead_")
        for sample in family.samples
    }


def test_no_gauge_of_the_cell_keeps_its_value_while_the_database_cannot_be_read(cell: Cell) -> None:
    slow = Slow(cell.store)
    gauges = Gauges(slow, every=60)  # type: ignore[arg-type]
    for gauge in metrics.OF_CELL:
        for each in (
            (gauge.labels("connected"), gauge.labels("disconnected")) if gauge is metrics.AGENTS else (gauge,)
        ):
            each.set(-1)
    before = samples()
    cell.run(gauges.refresh())
    changed = {key for key, value in samples().items() if value != before.get(key) and not math.isnan(value)}
    of_cell = changed - {("stead_bus_leaderless", ())}
    names = {family.name for gauge in metrics.OF_CELL for family in gauge.describe()}
    assert names <= {name for name, _ in of_cell}
    gauges._at, slow.fails = -math.inf, True
    cell.run(gauges.refresh())
    after = samples()
    assert value(exposition(), "stead_database_up") == 0
    numbers = {name for name, labels in of_cell if not math.isnan(after.get((name, labels), math.nan))}
    assert numbers == {"stead_database_up", "stead_database_read_seconds"}
    slow.fails = False
    cell.run(gauges.refresh())
    assert not [key for key, value in samples().items() if key in of_cell and math.isnan(value)]


def test_worst_value_is_no_number_when_none_was_reported_for_long() -> None:
    gauge = Gauge("stead_test_worst", "For this test.", registry=CollectorRegistry())
    worst = metrics.WorstGauge(gauge, window=60)

    def shown() -> float:
        return next(iter(gauge.collect())).samples[0].value

    assert math.isnan(shown())
    worst.report(3.0)
    worst.report(2.0)
    assert shown() == 3.0
    worst._since -= 61
    worst.report(1.0)
    assert shown() == 3.0  # within two windows
    worst._since -= 61
    assert shown() == 1.0
    worst._since -= 200
    assert math.isnan(shown())


def test_counting_ends_at_its_bound(cell: Cell, web: httpx.Client, ns: str) -> None:
    for name in "abc":
        web.post(f"/v1/resources/{ns}/{name}", json=VM)
    read = cell.run(cell.store.diagnostics.read_gauges(2, 30))
    assert read["operations"][0] == read["untaken"][0] == 2


def test_two_processes_are_told_as_one(cell: Cell) -> None:
    text = merged({"server": exposition(), "controller": exposition()})
    names = [family.name for family in families(text)]
    assert len(names) == len(set(names)), "a family is told twice"
    parts = {s.labels["part"] for family in families(text) for s in family.samples}
    assert parts == {"server", "controller"}
    assert text.count("# TYPE stead_reconciler_runs_total counter") == 1


def test_every_metric_says_what_it_is() -> None:
    for family in metrics.REGISTRY.collect():
        assert family.documentation, family.name
        assert family.name.startswith(("stead_", "process_")), family.name


@pytest.mark.parametrize("label", ["path", "principal", "lane", "namespace", "operation", "agent"])
def test_labels_are_few(label: str) -> None:
    used = {name for family in metrics.REGISTRY.collect() for s in family.samples for name in s.labels}
    assert label not in used


def test_metrics_socket_answers_after_garbage_collection(tmp_path: Path) -> None:
    socket = tmp_path / "socket"

    async def collect_and_scrape() -> str | None:
        async with serve_socket(socket):
            assert await scrape_socket(socket)
            gc.collect()
            await asyncio.sleep(0)
            return await scrape_socket(socket)

    assert "stead_" in (uvloop.run(collect_and_scrape()) or "")
