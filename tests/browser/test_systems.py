"""Systems in the console: the tree, and who has which path of it, with an agent that runs real processes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.looking import PATIENCE, Looking
from tests.dev.trial import Trial

pytestmark = [pytest.mark.slow, pytest.mark.long]

LANE = "local.one"
Definition = dict[str, Any]


class Site:
    """A system whose services come up when they are let."""

    def __init__(self, cell: Trial, web: httpx.Client, folder: Path) -> None:
        self.cell, self.web, self.folder = cell, web, folder
        self.namespace = f"shop-{uuid4().hex[:6]}"
        self.path = f"/{self.namespace}/site"

    def founded(self) -> Site:
        cell, path = self.cell, f"/v1/resources{self.path}"
        cell.until(lambda: _served(self.web), "the lane to be served")
        self.web.post(path, json={"kind": "system", "spec": {"lanes": [LANE]}}).raise_for_status()
        cell.until(lambda: self.web.get(path).json().get("state") == "stable", "the system to be there")
        return self

    def deploy(self, definition: Definition, at: str = "/", **more: Any) -> str:
        """Begin one; its operation."""
        body = {"spec": {"definition": definition, "path": at}, **more}
        answer = self.web.post(f"/v1/resources{self.path}", params={"action": "deploy"}, json=body)
        answer.raise_for_status()
        return str(answer.json()["operation"]["id"])

    def deployed(self, definition: Definition, at: str = "/") -> None:
        operation = self.deploy(definition, at)
        self.cell.until(lambda: self.outcome(operation), "a deploy to end")
        assert self.outcome(operation) == "succeeded"

    def outcome(self, operation: str) -> str | None:
        found: str | None = self.web.get(f"/v1/operations/{operation}").json()["outcome"]
        return found

    def gated(self, gate: str, grace: float = 120, **more: Any) -> Definition:
        """A service that is well once it is let, and has failed where that takes too long."""
        health = {"command": ["test", "-e", str(self.folder / gate)], "every": 0.2, "grace": grace}
        return {"command": ["sleep", "1000"], "health": health, **more}

    def let(self, gate: str) -> None:
        (self.folder / gate).touch()


def _served(web: httpx.Client) -> bool:
    items = web.get("/v1/cells/-/lanes", params={"limit": 500}).json()["items"]
    return any(item["lane"] == LANE and any(agent["connected"] for agent in item["agents"]) for item in items)


@pytest.fixture
def web(cell: Trial) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=cell.url, trust_env=False, timeout=60) as one:
        yield one


@pytest.fixture
def site(cell: Trial, web: httpx.Client) -> Iterator[Site]:
    """A namespace of its own, and nothing there yet."""
    with TemporaryDirectory(prefix="stead-site-") as folder:
        Path(folder).chmod(0o755)  # services look there, as the user of their namespace
        yield Site(cell, web, Path(folder))


def service(**more: Any) -> Definition:
    return {"command": ["sleep", "1000"], **more}


JOB: Definition = {"kind": "job", "command": ["true"]}


def row(looking: Looking, path: str) -> Locator:
    return looking.the("system-tree").locator(f"[data-path='{path}']")


def claim(looking: Looking, place: str) -> Locator:
    return looking.the("system-tree").locator(f"[data-claim='{place}']")


def sees_held(looking: Looking, *what: str) -> None:
    """All rows that somebody has, from above: of the head of a claim its action, of others their names."""
    rows = looking.the("system-tree").locator("[role=treeitem]:has(.band)")
    expect(rows.locator(".claim-who a, .tree-name a, .tree-name b")).to_have_text(what, timeout=PATIENCE)


def sees_names(looking: Looking, *what: str) -> None:
    """All nodes that are shown, from above."""
    rows = looking.the("system-tree").locator(".tree-name a, .tree-name b")
    expect(rows).to_have_text(what, timeout=PATIENCE)


def fits(looking: Looking) -> bool:
    return bool(looking.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_a_system_is_found_and_its_tree_grows_by_itself(looking: Looking, site: Site) -> None:
    looking.go("/")
    looking.the("nav-systems").click()
    expect(looking.page.get_by_role("heading", level=1)).to_have_text("Systems")
    looking.go(f"/systems/{site.namespace}")
    looking.sees("empty", "stead system create")
    looking.sees("link", "Live")
    looking.page.wait_for_timeout(2000)  # sleep: what is loaded anew then has been
    looking.mark()
    site.founded()
    listed = looking.the("systems").locator(f"[data-system='{site.path}']")
    expect(listed).to_contain_text("nothing runs in it", timeout=PATIENCE)
    listed.get_by_role("link", name=site.path).click()
    looking.sees("state", "stable")
    looking.sees("empty", f"stead system deploy {site.path[1:]}")
    looking.page.set_viewport_size({"width": 390, "height": 800})
    looking.picture("system-empty")
    assert fits(looking)
    looking.page.set_viewport_size({"width": 1280, "height": 800})

    web = {"front": service(count=2), "api": service()}
    site.deployed({"web": web, "data": {"db": {"main": service(), "load": JOB}}})
    expect(row(looking, f"{site.path}/data/db/load")).to_contain_text("succeeded", timeout=PATIENCE)
    front = row(looking, f"{site.path}/web/front")
    expect(front.locator("[data-state]")).to_have_text("stable", timeout=PATIENCE)
    expect(front).to_contain_text(LANE)
    expect(front.locator(".copies")).to_have_text("2/2 up", timeout=PATIENCE)
    expect(row(looking, f"{site.path}/web").locator(".copies")).to_have_text("3/3 up")
    expect(row(looking, f"{site.path}/data/db/load").locator(".copies")).to_be_empty()
    sees_names(looking, "site", "data", "db", "load", "main", "web", "api", "front")
    looking.sees("tiles", "4 / 4")
    assert looking.never_reloaded()

    tree = looking.page.get_by_role("tree")
    db = tree.get_by_role("treeitem", level=3, expanded=True)
    expect(db).to_contain_text("db")
    db.get_by_role("button", name=f"Fold {site.path}/data/db").click()
    sees_names(looking, "site", "data", "db", "web", "api", "front")
    looking.the("fold-all").click()
    sees_names(looking, "site", "data", "web")
    tree.focus()
    for key in ("Home", "ArrowDown", "ArrowRight"):
        looking.page.keyboard.press(key)
    sees_names(looking, "site", "data", "db", "web")
    looking.the("system-filter").fill("load")
    sees_names(looking, "site", "data", "db", "load")

    row(looking, f"{site.path}/data/db/load").get_by_role("link", name="load", exact=True).click()
    looking.sees("journal", "succeeded")
    looking.page.get_by_label("Place").get_by_role("link", name="db", exact=True).click()
    expect(row(looking, f"{site.path}/data/db")).to_have_class(re.compile(r"\bhere\b"))


def test_the_tree_of_everything_has_services_below_their_system(looking: Looking, site: Site) -> None:
    site.founded().deployed({"web": {"front": service(), "load": JOB}})
    looking.go(f"/tree{site.path}/web")
    looking.the("tree-filter").fill(site.namespace)
    node = looking.the("tree").locator(f"[data-path='{site.path}/web/front']")
    expect(node).to_contain_text("stable")
    expect(node).to_contain_text("service")
    above = looking.the("tree").locator(f"[data-path='{site.path}']")
    expect(above.locator(".num")).to_have_text("1 service")
    above.get_by_role("link", name="site", exact=True).click()
    expect(row(looking, f"{site.path}/web/front")).to_be_visible()
    looking.the("to-resource").click()
    looking.sees("lifecycle", "degraded")
    looking.the("to-system").click()
    expect(row(looking, f"{site.path}/web/front")).to_be_visible()


def test_a_deploy_is_drawn_on_its_path_until_it_is_done(looking: Looking, site: Site) -> None:
    site.founded().deployed({"data": {"cache": service()}, "web": {"front": service()}})
    looking.go(f"/systems{site.path}")
    expect(row(looking, f"{site.path}/web/front")).to_contain_text("stable")
    looking.mark()
    data, front = f"{site.path}/data/db", f"{site.path}/web/front"
    first = site.deploy({"main": site.gated("db"), "load": JOB}, "/data/db")
    second = site.deploy(site.gated("front", env={"NEW": "yes"}), "/web/front")

    expect(claim(looking, data)).to_contain_text("deploy", timeout=PATIENCE)
    expect(claim(looking, front)).to_contain_text("0 of 1", timeout=PATIENCE)
    expect(claim(looking, data)).to_contain_text(re.compile(r"(just now|\d+ s ago) by anonymous"))
    bar = looking.page.get_by_role("progressbar", name=f"deploy of {data}")
    expect(bar).to_have_attribute("aria-valuenow", "1", timeout=PATIENCE)  # the job is through
    expect(bar).to_have_attribute("aria-valuemax", "2")
    expect(claim(looking, data)).to_contain_text("1 of 2")
    expect(row(looking, f"{data}/main")).to_contain_text("pending")
    expect(row(looking, front)).to_contain_text("updating")
    sees_held(looking, "deploy", "db", "load", "main", "deploy", "front")
    looking.sees("tile-under-way", "2")
    looking.picture("system-deploys")

    looking.the("fold-all").click()
    expect(row(looking, f"{site.path}/data")).to_contain_text("1 within")
    looking.the("tile-under-way").click()
    sees_held(looking, "deploy", "db", "load", "main", "deploy", "front")
    looking.the("system-filter").fill("")
    looking.the("unfold-all").click()

    site.let("db")
    expect(claim(looking, data)).to_have_count(0, timeout=PATIENCE)
    assert site.outcome(first) == "succeeded"
    expect(row(looking, f"{data}/main")).to_contain_text("stable", timeout=PATIENCE)
    sees_held(looking, "deploy", "front")
    assert looking.never_reloaded()
    claim(looking, front).get_by_role("link", name="deploy", exact=True).click()
    looking.sees("standing", second)
    expect(looking.page.get_by_role("heading", level=1)).to_have_text(f"deploy {front}")
    looking.page.get_by_role("heading", level=1).get_by_role("link").click()
    expect(row(looking, front)).to_have_class(re.compile(r"\bhere\b"))
    site.let("front")
    looking.sees("tile-under-way", "0")


def test_a_deploy_is_cancelled_where_it_is_drawn(looking: Looking, site: Site) -> None:
    site.founded()
    given = site.deploy({"main": site.gated("never", grace=5)}, "/data")
    other = site.deploy({"front": site.gated("later")}, "/web")
    looking.go(f"/systems{site.path}")
    expect(claim(looking, f"{site.path}/web")).to_be_visible()
    looking.page.get_by_role("button", name=f"Cancel deploy of {site.path}/data").click()
    looking.sees("toast", "It is being ended")
    expect(claim(looking, f"{site.path}/data")).to_have_count(0, timeout=2 * PATIENCE)
    assert (site.outcome(given), site.outcome(other)) == ("cancelled", None)
    expect(claim(looking, f"{site.path}/web").get_by_role("button")).to_have_text("Cancel")
    site.let("later")


def test_what_failed_is_seen_and_found(looking: Looking, site: Site) -> None:
    site.founded().deployed({"web": {"front": service()}})
    looking.go(f"/systems{site.path}")
    looking.sees("state", "stable")
    wrong = {"command": ["false"], "restart": "never"}
    site.deploy({"main": wrong, "cache": service()}, "/data", on_failure="keep")
    expect(row(looking, f"{site.path}/data/main").locator("[data-state]")).to_have_text("failed", timeout=PATIENCE)
    looking.sees("state", "degraded")
    expect(row(looking, f"{site.path}/data")).to_have_attribute("data-health", "trouble")
    expect(row(looking, f"{site.path}/web")).to_have_attribute("data-health", "well")
    looking.sees("tiles", "services, 1 failed")
    looking.the("system-filter").fill("failed")
    sees_names(looking, "site", "data", "main")
    looking.picture("system-failed")


def test_a_system_is_deleted_though_somebody_deploys(looking: Looking, site: Site) -> None:
    site.founded()
    deploy = site.deploy({"main": site.gated("never", grace=8)}, "/data")
    looking.go(f"/systems{site.path}")
    expect(claim(looking, f"{site.path}/data")).to_be_visible()
    expect(looking.action("deploy")).to_have_count(0)  # it says more than its name
    looking.action("teardown").click()
    looking.sees("reasons", "deploy by anonymous is under way")
    looking.sees("explain", f"{site.path}/data")
    looking.page.keyboard.press("Escape")
    expect(looking.action("delete")).to_have_attribute("data-allowed", "true")
    looking.action("delete").click()
    looking.sees("confirm", "Cancel what is going on")
    looking.the("confirm-yes").click()
    expect(claim(looking, site.path)).to_contain_text("delete", timeout=PATIENCE)  # whoever works on it is waited out
    expect(looking.page.get_by_text(f"There is no system {site.path}")).to_be_visible(timeout=2 * PATIENCE)
    assert site.outcome(deploy) in ("preempted", "cancelled")
    looking.go(f"/systems/{site.namespace}")
    looking.sees("empty", "There is no system yet")
    assert all("404" in trouble for trouble in looking.troubles)  # a browser calls it an error
    looking.troubles.clear()


def many(system: str) -> Definition:
    """Two hundred services; one has failed, some are on their way, and what is well is held."""
    parts = []
    for n in range(200):
        region, shard = divmod(n // 5, 5)
        state = "failed" if n == 91 else "pending" if region == 5 and shard == 0 else "stable"
        parts.append(
            {
                "path": f"{system}/region-{region}/shard-{shard}/service-{n}",
                "kind": "service",
                "state": state,
                "lane": LANE,
                "count": 3,
                "running": 3 if state == "stable" else None,
                "operation": None,
            }
        )
    running = {
        "id": "00000000-0000-0000-0000-000000000001",
        "action": "deploy",
        "place": f"{system}/region-7/shard-0",
        "principal": "somebody-with-a-long-name@example.org",
        "since": "2026-01-01T00:00:00Z",
        "total": 5,
        "remaining": 3,
        "failed": 1,
        "asked": False,
        "cancelled": True,
    }
    return {
        "path": system,
        "state": "degraded",
        "operation": None,
        "lanes": [LANE],
        "parts": parts,
        "running": [running],
    }


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_two_hundred_services_are_readable(looking: Looking, site: Site, width: int, theme: str) -> None:
    def answer(route: Route) -> None:
        route.fulfill(json=many(site.path))

    looking.page.route(f"**/v1/systems{site.path}", answer)
    site.founded()
    looking.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    looking.page.set_viewport_size({"width": width, "height": 800})
    looking.go(f"/systems{site.path}")
    looking.sees("tiles", "200")
    # What is well is folded; what has failed, is on its way or is held is not.
    expect(row(looking, f"{site.path}/region-0")).to_be_visible()
    expect(row(looking, f"{site.path}/region-0/shard-0")).to_have_count(0)
    expect(row(looking, f"{site.path}/region-3/shard-3/service-91")).to_contain_text("failed")
    looking.picture(f"system-many-{theme}-{width}")
    assert fits(looking)

    one = claim(looking, f"{site.path}/region-7/shard-0")
    looking.the("system-tree").focus()
    looking.page.keyboard.press("End")
    expect(one).to_be_visible()
    looking.the("tile-under-way").click()
    expect(one).to_contain_text("2 of 5 so far")
    expect(one).to_contain_text("1 given up")
    expect(one.get_by_role("button")).to_be_disabled()
    sees_held(looking, "deploy", "shard-0", *(f"service-{n}" for n in range(175, 180)))
    looking.picture(f"system-held-{theme}-{width}")
    assert fits(looking)
    box = looking.the("nav-create").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width

    looking.the("system-filter").fill("")
    looking.the("unfold-all").click()
    items = looking.the("system-tree").get_by_role("treeitem")
    expect(items.first).to_have_attribute("aria-setsize", str(200 + 40 + 8 + 1 + 1))
    assert items.count() < 60  # what cannot be seen is not drawn
    looking.the("system-tree").focus()
    looking.page.keyboard.press("End")
    last = row(looking, f"{site.path}/region-7/shard-4/service-199")
    expect(last).to_be_visible()
    looking.go(f"/systems{site.path}/region-7/shard-4/service-199")
    expect(last).to_be_in_viewport()
