"""Every page, in light and in dark, wide and narrow: it has something to show, and its picture is what the docs use.

`make shots` keeps the pictures.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

from tests.browser.looking import Looking
from tests.dev.trial import Trial, trial

pytestmark = [pytest.mark.slow, pytest.mark.long]

PAGES = {
    "overview": ("/", "counts", "vm"),
    "tree": ("/tree", "tree", "lab"),
    "infrastructure": ("/r/shop/web", "standing", "aws.us-east-1"),
    "vm": ("/r/shop/web/front/1", "truth", "Running"),
    "operations": ("/operations", "ended", "create"),
    "operation": ("", "gantt", "front/1"),
    "lanes": ("/lanes", "lanes", "aws.us-east-1"),
    "lifecycle": ("/lifecycles/vm", "diagram", "Suspending"),
    "create": ("/create", "file", ""),
}
SIZES = {1280: 900, 390: 844}

LAB = """
defaults: {spec: small, image: ubuntu-22.04}
subgroups:
  - {name: nodes, provider: aws, region: eu-central-1, size: 14}
  - {name: store, provider: gcp, region: europe-west4, size: 6}
"""


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """Some of it runs, some of it has failed, and something is always under way."""
    with trial(tmp_path_factory.mktemp("cell"), "--delay", "0.3") as one:
        one.runs()
        example = one.stead("mci example").stdout
        for path, file in (("shop/web", example), ("shop/api", example), ("lab/render", LAB)):
            assert one.stead(f"mci create {path} -f -", file).returncode == 0
        place = {"provider": "aws", "region": "eu-central-1"}
        one.fault(kind="broken-result", **place, verb="reboot", times=2)
        for number in (1, 2):
            one.stead(f"vm reboot lab/render/nodes/{number}")
        assert one.stead("mci suspend shop/api").returncode == 0
        yield one


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_of_every_page(
    browser: Browser, lively: Trial, theme: Literal["light", "dark"], width: int, tmp_path: Path
) -> None:
    folder = Path(os.environ.get("STEAD_SHOTS") or tmp_path)
    context = browser.new_context(viewport={"width": width, "height": SIZES[width]}, color_scheme=theme)
    looking = Looking(context.new_page(), lively.url)
    (made,) = json.loads(lively.stead("operation list --below shop/web -o json").stdout)
    for name, (where, part, text) in PAGES.items():
        looking.go(where or f"/operations/{made['id']}")
        looking.sees(part, text)
        looking.page.wait_for_timeout(600)  # sleep: transitions of the page end
        looking.page.screenshot(path=folder / f"{name}-{theme}-{width}.png", animations="disabled")
    context.close()
    assert looking.troubles == []
