"""Whatever the console lets a person change beyond the plain way: forced, ended early, tried again, put first,
limited, adopted, removed. On a real `stead dev`, whose provider fails where it is told to."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.looking import PATIENCE, Looking
from tests.dev.trial import Trial, trial

pytestmark = [pytest.mark.slow, pytest.mark.long]

AWS = {"provider": "aws", "region": "us-east-1"}
FILE = """
defaults: {spec: small, image: ubuntu-22.04}
subgroups:
  - {name: front, provider: aws, region: us-east-1, size: 3}
"""


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with trial(tmp_path_factory.mktemp("cell"), "--delay", "0.2") as one:
        one.runs()
        yield one


def made(cell: Trial, path: str) -> None:
    answer = cell.stead(f"mci create {path} -f -", FILE)
    assert answer.returncode == 0, answer.stderr


def newest(cell: Trial, below: str) -> str:
    found = json.loads(cell.stead(f"operation list --below {below} -o json").stdout)
    return str(max(found, key=lambda one: one["created_at"])["id"])


def survey(cell: Trial, agent: str) -> None:
    """Have an agent tell all that its provider has: it does when it is back from the dead."""
    os.kill(cell.pid(agent), signal.SIGKILL)
    listed = listings(cell)
    cell.until(lambda: listings(cell) > listed, f"{agent} to look at what there is")
    time.sleep(1)  # sleep: and to report it


def listings(cell: Trial) -> int:
    """How often the whole of gcp.europe-west4 was looked at."""
    found, last = 0, 0
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{cell.cloud}/v1/_calls?since={last}", timeout=5) as answer:
            page = json.load(answer)
        if not page["calls"]:
            return found
        found += sum((call["verb"], call["region"]) == ("list", "europe-west4") for call in page["calls"])
        last = page["last"]


def test_members_that_failed_are_tried_again_by_force(looking: Looking, cell: Trial) -> None:
    made(cell, "acting/some")
    cell.fault(kind="fail", **AWS, verb="terminate", members=True, times=3, code="HostBroken")
    assert cell.stead("mci terminate acting/some").returncode != 0
    operation = newest(cell, "acting/some")
    cell.fault(kind="broken-result", **AWS, verb="reboot", times=1)
    assert cell.stead("mci reboot acting/some").returncode != 0
    looking.go(f"/operations/{operation}")
    looking.sees("errors", "HostBroken")
    looking.picture("act-failed")
    looking.the("retry").click()
    looking.sees("force-retry", "terminate cannot start in Failed")
    looking.picture("act-retry")
    (refusal,) = looking.troubles  # a browser calls it an error
    assert "409" in refusal
    looking.troubles.clear()
    expect(looking.the("retry-force")).to_be_disabled()
    looking.the("retry-reason").fill("the host was mended")
    looking.the("retry-force").click()
    looking.sees("standing", "the host was mended")
    looking.sees("gantt", "Terminating")
    expect(
        looking.the("gantt").locator("[data-path$='front/1'], [data-path$='front/2'], [data-path$='front/3']")
    ).to_have_count(3)
    looking.picture("act-retried")


def test_vm_that_failed_shows_why_and_has_the_buttons_of_what_is_allowed(looking: Looking, cell: Trial) -> None:
    made(cell, "acting/broken")
    cell.fault(kind="broken-result", **AWS, verb="reboot", times=1)
    assert cell.stead("vm reboot acting/broken/front/1").returncode != 0
    assert cell.stead("mci terminate acting/broken").returncode != 0
    states = {vm["state"]: vm["path"] for vm in json.loads(cell.stead("vm list acting/broken -o json").stdout)}
    assert set(states) == {"Failed", "Terminated"}
    for path in (*states.values(), "/acting/broken/front", "/acting/broken"):
        explained = json.loads(cell.stead(f"explain {path} suspend -o json").stdout)
        looking.go(f"/r{path}")
        if path == states["Failed"]:
            looking.sees("failure", "it is broken")
        buttons = looking.the("actions").locator("[data-action]")
        for name in explained["allowed_actions"]:
            if looking.action(name).count():
                expect(looking.action(name)).to_have_attribute("data-allowed", "true", timeout=PATIENCE)
        expect(buttons.first).to_be_enabled(timeout=PATIENCE)
        enabled = buttons.and_(looking.page.locator("[data-allowed=true]")).evaluate_all(
            "found => found.map(one => one.dataset.action)"
        )
        assert set(enabled) <= set(explained["allowed_actions"]), path


def test_an_action_that_is_refused_is_forced_with_a_reason(looking: Looking, cell: Trial) -> None:
    made(cell, "acting/force")
    shown = json.loads(cell.stead("vm show acting/force/front/1 -o json").stdout)
    cell.provider("_drift", **AWS, do="stop", ids=[shown["facts"]["id"]])  # nobody has looked yet
    looking.go("/r/acting/force/front/1")
    looking.sees("truth", "differ")
    expect(looking.action("resume")).to_have_attribute("data-allowed", "false")
    looking.action("resume").click()
    looking.sees("reasons", "resume cannot start in Running")
    expect(looking.the("force")).to_be_disabled()
    looking.the("force-reason").fill("it was stopped by hand")
    looking.picture("act-force")
    looking.the("force").click()
    looking.sees("truth", "agree")
    looking.sees("state", "Running")
    looking.sees("journal", "it was stopped by hand")
    looking.picture("act-forced")


def test_an_operation_under_way_is_ended_and_asked_for_once_more(looking: Looking, cell: Trial) -> None:
    made(cell, "acting/end")
    cell.fault(kind="hang", **AWS, verb="suspend")
    assert cell.stead("mci suspend acting/end --detach").returncode == 0
    looking.go("/r/acting/end")
    looking.sees("operation", "suspend")
    looking.the("operation").get_by_role("link", name="Timeline").click()
    looking.sees("gantt", "Suspending")
    looking.the("cancel").click()
    looking.sees("cancel", "Ending")
    looking.picture("act-ending")
    expect(looking.page.locator(".top [data-outcome=cancelled]")).to_be_visible(timeout=2 * PATIENCE)
    looking.sees("errors", "it was cancelled")
    looking.picture("act-ended")
    cell.heal()
    looking.the("retry").click()
    expect(looking.page.locator(".top [data-outcome=succeeded]")).to_be_visible(timeout=PATIENCE)
    assert cell.stead("mci status acting/end").stdout.startswith("acting/end  Suspended:3")


def test_the_last_in_a_queue_is_put_first(looking: Looking, cell: Trial) -> None:
    made(cell, "acting/queue")
    cell.fault(kind="slow", **AWS, verb="reboot", seconds=20)
    path = "acting/queue/front/1"
    for words in (f"vm reboot {path}", f"vm suspend {path} --queue", f"vm terminate {path} --queue"):
        assert cell.stead(f"{words} --detach").returncode == 0
    looking.go(f"/r/{path}")
    looking.sees("queue", "terminate")
    looking.picture("act-queue")
    looking.the("queue").get_by_role("link", name="terminate").click()
    looking.sees("timeline", "It waits its turn")
    expect(looking.page.locator(".top .chip")).to_contain_text("place 2")
    looking.picture("act-waits")
    looking.the("promote").click()
    expect(looking.page.locator(".top .chip")).to_contain_text("place 1", timeout=PATIENCE)
    looking.sees("toast", "It is the next one now")
    looking.picture("act-promoted")


def test_the_limits_of_a_lane_and_of_a_provider_are_changed(looking: Looking, cell: Trial) -> None:
    looking.go("/lanes")
    row = looking.the("lanes").locator("tr[data-lane='azure.westeurope']")
    row.get_by_role("button", name="Limit").click()
    looking.the("limit").get_by_label("Members at once").fill("7")
    looking.picture("act-limit")
    looking.the("limit").get_by_role("button", name="Save").click()
    expect(row.locator("[data-label='At once']")).to_have_text("7", timeout=PATIENCE)
    other = looking.the("lanes").locator("tr[data-lane='azure.koreacentral']")
    other.get_by_role("button", name="Limit").click()
    looking.the("limit").get_by_label("For all regions").check()
    looking.the("limit").get_by_label("Members at once").fill("9")
    looking.the("limit").get_by_label("Regions at once").fill("1")
    looking.picture("act-limit-all")
    looking.the("limit").get_by_role("button", name="Save").click()
    expect(other.locator("[data-label='At once']")).to_have_text("9", timeout=PATIENCE)
    looking.picture("act-limited")
    told = {one["lane"]: one for one in json.loads(cell.stead("lane list -o json").stdout)}
    assert (told["azure.westeurope"]["limit"], told["azure.koreacentral"]["limit"]) == (7, 9)
    assert told["azure.koreacentral"]["regions"] == 1


def test_what_nobody_owns_is_adopted_and_removed(looking: Looking, cell: Trial) -> None:
    lost = [
        {"token": str(uuid4()), "spec": {}, "tags": {"owner": "stead", "path": f"/lost/web/front/{name}"}}
        for name in ("kept", "gone")
    ]
    cell.provider("gcp/europe-west4/instances", instances=lost)
    while len(cell.stead("orphan list -o name").stdout.split()) < 2:  # whatever was found twice is listed
        survey(cell, "agent-gcp")
    looking.go("/lanes")
    looking.sees("orphans", "/lost/web/front/kept")
    looking.sees("orphans", "/lost/web/front/gone")
    looking.picture("act-orphans")
    rows = looking.the("orphans").locator("tbody tr")
    rows.filter(has_text="front/kept").get_by_role("button", name="Adopt").click()
    looking.the("orphan").get_by_label("At the path").fill("/found/web/front/1")
    looking.picture("act-adopt")
    looking.the("orphan").get_by_role("button", name="Adopt").click()
    expect(rows).to_have_count(1, timeout=PATIENCE)
    looking.the("toast").get_by_role("link", name="Show").click()
    looking.page.get_by_role("link", name="/found/web/front/1", exact=True).first.click()
    looking.sees("state", "Running")
    looking.picture("act-adopted")
    looking.go("/lanes")
    rows.filter(has_text="front/gone").get_by_role("button", name="Remove").click()
    looking.picture("act-remove")
    looking.the("orphan").get_by_role("button", name="Remove").click()
    looking.sees("orphans", "Nothing is orphaned")
    looking.picture("act-removed")
