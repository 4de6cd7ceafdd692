"""The console in a real browser, on a real `stead dev`."""

from __future__ import annotations

import os
import signal

import pytest
from playwright.sync_api import expect

from tests.browser.looking import Looking
from tests.dev.trial import Trial
from tests.tiers import first_fast

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web(cell: Trial) -> str:
    """The path of an infrastructure that was suspended."""
    path = "/shop/web"
    made = cell.stead(f"mci create {path} -f -", cell.stead("mci example").stdout)
    assert made.returncode == 0, made.stderr
    assert cell.stead(f"mci suspend {path}").returncode == 0
    return path


@pytest.mark.long
def test_an_infrastructure_is_made_suspended_explained_and_outlives_a_kill(looking: Looking, cell: Trial) -> None:
    looking.go("/create")
    looking.the("path").fill("shop/made")
    looking.mark()
    looking.the("create").click()
    looking.sees("timeline", "front/1")
    looking.page.get_by_role("link", name="/shop/made", exact=True).first.click()
    looking.sees("state", "Running")
    looking.action("suspend").click()
    looking.the("confirm-yes").click()
    looking.sees("state", "Suspended")

    looking.action("continue").click()
    looking.sees("reasons", "continue cannot start in Suspended")
    looking.page.keyboard.press("Escape")
    expect(looking.the("explain")).to_have_count(0)

    looking.outage = True
    looking.action("resume").click()
    looking.the("confirm-yes").click()
    looking.sees("state", "Resuming")
    os.kill(cell.pid("server"), signal.SIGKILL)
    looking.sees("state", "Running")
    looking.outage = False
    assert looking.never_reloaded()
    assert cell.stead("mci status shop/made").stdout.startswith("shop/made  Running:6")


@pytest.mark.long
@pytest.mark.usefixtures("web")
def test_every_page_has_something_to_say(looking: Looking) -> None:
    for where, name, text in (
        ("/", "counts", "vm"),
        ("/tree", "tree", "shop"),
        ("/operations", "ended", "suspend"),
        ("/stuck", "stuck-moving", "being looked at"),
        ("/lanes", "lanes", "aws.us-east-1"),
        ("/lifecycles/vm", "diagram", "Suspending"),
    ):
        looking.go(where)
        looking.sees(name, text)


def test_a_file_that_makes_no_sense_is_told_line_by_line(looking: Looking) -> None:
    looking.go("/create")
    looking.the("yaml").fill("subgroups:\n  - {name: front, provider: aws, region: us-east-1, size: many}\n")
    looking.the("path").fill("shop/wrong")
    looking.the("create").click()
    looking.sees("mistakes", "Line 2")
    (refusal,) = looking.troubles  # a browser calls it an error
    assert "422" in refusal
    looking.troubles.clear()


@pytest.mark.usefixtures("web")
def test_it_is_used_by_keyboard_alone(looking: Looking) -> None:
    looking.go("/")
    looking.sees("counts", "vm")
    looking.page.keyboard.type("gt")
    looking.sees("tree", "shop")
    looking.page.keyboard.press("?")
    expect(looking.the("help")).to_be_visible()
    looking.page.keyboard.press("Escape")
    looking.page.keyboard.press("/")
    expect(looking.the("tree-filter")).to_be_focused()


@pytest.mark.parametrize("width", first_fast([390, 1280]))
def test_nothing_is_wider_than_the_window(looking: Looking, web: str, width: int) -> None:
    looking.page.set_viewport_size({"width": width, "height": 800})
    for where, name, text in (
        ("/", "counts", "vm"),
        ("/tree", "tree", "shop"),
        ("/operations", "ended", "suspend"),
        ("/stuck", "stuck-moving", "being looked at"),
        ("/lanes", "lanes", "aws.us-east-1"),
        ("/lifecycles/vm", "states", "Suspending"),
        ("/create", "file", ""),
        (f"/r{web}", "standing", "aws.us-east-1"),
    ):
        looking.go(where)
        looking.sees(name, text)
        over = looking.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert over <= 0, where
