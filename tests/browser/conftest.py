"""A browser, and a `stead dev` for it to look at."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.looking import Looking
from tests.dev.trial import Trial, trial

CHROMIUM = next((found for name in ("chromium", "google-chrome") if (found := shutil.which(name))), "")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("no browser is installed: apt install chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with trial(tmp_path_factory.mktemp("cell"), "--delay", "1.5") as one:
        one.runs()
        yield one


@pytest.fixture
def looking(browser: Browser, cell: Trial) -> Iterator[Looking]:
    """A window in which nothing may go wrong unnoticed."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    one = Looking(context.new_page(), cell.url)
    yield one
    context.close()
    assert one.troubles == []
