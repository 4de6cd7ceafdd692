"""The page of limits states the limits that hold, and names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stead.api.limits import RequestLimits
from stead.api.rates import RateLimits
from stead.catalog import infrastructure
from stead.controller.admission import limits
from stead.store.pages import MAX_PAGE_BYTES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/limits.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| what"))
]
BOUNDS, RATES = RequestLimits(), RateLimits()
LIMITS: dict[str, float] = {
    "spec of a resource, as JSON": limits.MAX_SPEC_BYTES,
    "names in a path": limits.MAX_DEPTH,
    "path": 1000,
    "labels of a resource": limits.MAX_LABELS,
    "name of a label": limits.MAX_LABEL_NAME,
    "value of a label": limits.MAX_LABEL_VALUE,
    "VMs of an infrastructure": infrastructure.MOST,
    "copies of a service": 1000,
    "body": BOUNDS.body,
    "nesting of a body": BOUNDS.depth,
    "members of objects and arrays in a body": BOUNDS.items,
    "path and query of the address": BOUNDS.address,
    "headers": BOUNDS.headers,
    "time in which a body arrives": BOUNDS.patience,
    "requests in progress at a server": BOUNDS.in_hand,
    "requests in progress of a caller": BOUNDS.in_hand_each,
    "streams of events at a server": BOUNDS.streams,
    "streams of events of a caller": BOUNDS.streams_each,
    "items of a page": 1000,
    "specs, facts, changes and requests on a page": MAX_PAGE_BYTES,
    "changes of a caller": RATES.changes,
    "reads of a caller": RATES.reads,
    "changes in a namespace": RATES.namespace_changes,
    "reads in a namespace": RATES.namespace_reads,
    "wrong tokens of an address": RATES.unknown,
}


def test_page_states_every_limit() -> None:
    assert [row[0] for row in ROWS] == list(LIMITS)


@pytest.mark.parametrize("row", ROWS, ids=[row[0].replace(" ", "-") for row in ROWS])
def test_limit_is_the_one_that_is_enforced_and_its_test_exists(row: list[str]) -> None:
    stated = next(cell for cell in row[1:] if re.match(r"[0-9]", cell))
    assert float(re.sub(r"[^0-9.]", "", stated.split(" ")[0])) == LIMITS[row[0]]
    file, _, name = row[-1].strip("`").partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert f"def {name.rstrip('…')}" in text
