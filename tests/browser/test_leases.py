"""Hosts by time and leases in the console, with an agent that hands hosts of the simulated cloud over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.looking import PATIENCE, Looking
from tests.dev.trial import Trial

pytestmark = [pytest.mark.slow, pytest.mark.long]

LANE = "rack.lab"
WHY = "its fan stands still"


@pytest.fixture
def web(cell: Trial) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=cell.url, trust_env=False, timeout=60) as one:
        yield one


@pytest.fixture
def rack(cell: Trial, web: httpx.Client) -> None:
    """Three hosts, and somebody who hands them over."""
    cell.until(lambda: _served(web), "the rack to be served")
    for name in ("h1", "h2", "h3"):
        web.put(f"/v1/cells/-/hosts/{name}", json={"lane": LANE}).raise_for_status()
    web.delete("/v1/cells/-/hosts/h4")


def _served(web: httpx.Client) -> bool:
    items = web.get("/v1/cells/-/lanes", params={"limit": 500}).json()["items"]
    return any(item["lane"] == LANE and any(agent["connected"] for agent in item["agents"]) for item in items)


def _book(web: httpx.Client, path: str, start: timedelta, end: timedelta, **more: Any) -> None:
    now = datetime.now(UTC)
    spec = {
        "start": (now + start).isoformat(),
        "end": (now + end).isoformat(),
        "reservations": [{"count": 1}],
        **more,
    }
    web.post(f"/v1/resources{path}", json={"kind": "lease", "spec": spec}).raise_for_status()


@pytest.fixture
def booked(rack: None, web: httpx.Client) -> None:
    """Somebody has a host, whether or not another test has booked it already."""
    if web.get("/v1/leases/lab/monday").status_code == 404:
        _book(web, "/lab/monday", timedelta(), timedelta(days=3))


def _row(looking: Looking, host: str) -> Locator:
    return looking.the("calendar").locator(f"[data-host={host}]")


def _fits(looking: Looking) -> bool:
    return bool(looking.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_without_hosts_it_is_told_how_to_add_one(looking: Looking, web: httpx.Client) -> None:
    for name in ("h1", "h2", "h3", "h4"):  # those that are there from the beginning
        web.delete(f"/v1/cells/-/hosts/{name}")
    looking.go("/")
    looking.the("nav-calendar").click()
    looking.sees("empty", "stead host add")
    expect(looking.the("calendar").get_by_role("table")).to_have_count(0)


def test_a_lease_is_seen_in_the_calendar_and_opened_from_there(
    looking: Looking, rack: None, web: httpx.Client
) -> None:
    looking.go("/calendar/day")
    table = looking.the("calendar").get_by_role("table")
    expect(table.get_by_role("rowheader")).to_have_text(["h1", "h2", "h3"])
    looking.sees("legend", "Nothing is booked then")
    looking.mark()
    _book(web, "/lab/monday", timedelta(), timedelta(days=3), reservations=[{"count": 2}], before_end=4 * 86400)
    bar = _row(looking, "h1").locator("[data-booked='/lab/monday']")
    expect(bar).to_have_attribute("data-state", "ACTIVE", timeout=PATIENCE)  # it comes by itself
    expect(_row(looking, "h2").get_by_role("link", name="/lab/monday, ACTIVE")).to_have_text("monday")
    expect(_row(looking, "h3").get_by_role("cell")).to_have_text("free")
    expect(looking.the("now")).to_be_visible()
    looking.picture("calendar-day")

    web.put("/v1/cells/-/hosts/h2/works", json={"healthy": False, "reason": WHY}).raise_for_status()
    expect(_row(looking, "h2").get_by_role("rowheader")).to_contain_text(f"failed: {WHY}", timeout=PATIENCE)
    expect(_row(looking, "h3").locator("[data-booked='/lab/monday']")).to_be_visible(
        timeout=PATIENCE
    )  # it took its place
    expect(_row(looking, "h1")).not_to_contain_text("failed")

    for unit in ("week", "month"):
        looking.the(f"unit-{unit}").click()
        expect(bar).to_be_visible()
        looking.picture(f"calendar-{unit}")
    said = looking.the("span").inner_text()
    for _ in range(2):
        looking.the("earlier").click()
    expect(looking.the("span")).not_to_have_text(said)
    expect(bar).to_have_count(0)
    expect(looking.the("now")).to_have_count(0)
    looking.page.go_back()
    looking.the("later").click()
    expect(looking.the("span")).to_have_text(said)

    bar.focus()
    looking.page.keyboard.press("Enter")
    looking.sees("state", "ACTIVE")
    assert looking.never_reloaded()
    lease = looking.the("lease")
    expect(lease.locator("[data-event=start_lease]")).to_contain_text(re.compile("DONE.* late|DONE.*on time"))
    expect(lease.locator("[data-event=before_end_lease]")).to_contain_text(re.compile("DONE.* late|DONE.*on time"))
    expect(lease.locator("[data-event=end_lease]")).to_contain_text(re.compile("UNDONE.*to come"))
    expect(lease).to_contain_text("noted, and told to nobody", timeout=PATIENCE)
    reservation = lease.locator("[data-reservation=r0]")
    expect(reservation.locator(".chip")).to_have_text(["h1", "h3"], timeout=PATIENCE)
    expect(reservation.locator("[data-flag=changed]")).to_be_visible()
    looking.picture("lease")
    web.put("/v1/cells/-/hosts/h3/works", json={"healthy": False}).raise_for_status()
    expect(reservation.locator("[data-flag=missing]")).to_be_visible(timeout=PATIENCE)
    expect(lease.locator("[data-flag=degraded]")).to_be_visible()
    looking.picture("lease-missing")
    lease.get_by_role("link", name="In the calendar").click()
    expect(bar).to_be_visible()


def test_what_others_have_is_booked_without_a_name(looking: Looking, booked: None) -> None:
    def strip(route: Route) -> None:
        """As the server answers whoever may not see the lease."""
        whole = route.fetch().json()
        for one in whole["booked"]:
            one |= {"lease": "", "status": ""}
        route.fulfill(json=whole)

    looking.page.route("**/v1/calendar*", strip)
    looking.go("/calendar")
    cell = _row(looking, "h1").get_by_role("cell")
    expect(cell).to_contain_text("booked by somebody else", timeout=PATIENCE)
    expect(cell.get_by_role("link")).to_have_count(0)
    looking.sees("legend", "booked by somebody else")
    looking.picture("calendar-others")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_wide_and_narrow(looking: Looking, booked: None, width: int, theme: str) -> None:
    looking.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    looking.page.set_viewport_size({"width": width, "height": 800})
    for unit in ("day", "week", "month"):
        looking.go(f"/calendar/{unit}")
        expect(_row(looking, "h1").locator("[data-booked]").first).to_be_visible(timeout=PATIENCE)
        looking.picture(f"calendar-{unit}-{theme}-{width}")
        assert _fits(looking), unit
    looking.go("/r/lab/monday")
    looking.sees("lease", "before its end")
    looking.the("lease").scroll_into_view_if_needed()
    looking.picture(f"lease-{theme}-{width}")
    assert _fits(looking)
