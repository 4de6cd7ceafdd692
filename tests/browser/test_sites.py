"""Sites, clusters and apps in the console, with an agent that runs real processes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.looking import Looking
from tests.dev.trial import Trial
from tests.drivers.process_world import ProcessWorld
from tests.integration.test_processes import Stead

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="apps have namespaces of their own, which takes root"),
]


@pytest.fixture
def site(cell: Trial, tmp_path: Path) -> Iterator[Stead]:
    """A site with a cluster and an app, and its agent."""
    bus = re.search(r"nats://[\d.:]+", cell.said())
    assert bus is not None
    words = ("--nats", bus[0], "--cell", "dev", "--lane", "edge.lab.berlin", "--name", "lab-berlin")
    with Stead("agent", "run", *words, "--driver", "process", "--set", f"root={tmp_path / 'site'}") as agent:
        made = cell.stead("cloudlet create lab/berlin --wait --timeout 50s")
        assert made.returncode == 0, made.stderr
        assert cell.stead("cluster create lab/berlin/one --timeout 50s").returncode == 0
        assert cell.stead("app create lab/berlin/one/web --timeout 50s -- sleep 1000").returncode == 0
        yield agent
    ProcessWorld(tmp_path / "site").clean()


@pytest.mark.req("S1-10")
def test_a_site_shows_who_is_there_what_is_on_it_and_what_that_wrote(looking: Looking, site: Stead) -> None:
    looking.go("/tree")
    looking.sees("tree", "berlin")
    looking.go("/r/lab/berlin")
    looking.sees("state", "Ready")
    looking.sees("presence", "lab-berlin")
    looking.sees("presence", "0.1.0")
    looking.sees("within", "one")
    looking.the("within").get_by_role("link", name="one", exact=True).click()
    looking.sees("within", "web")
    looking.the("within").get_by_role("link", name="web", exact=True).click()
    looking.sees("state", "Ready")
    looking.sees("logs", "started, with revision")
    looking.action("delete").click()
    looking.the("confirm-yes").click()
    looking.sees("state", "not there")
    looking.go("/tree")
    looking.sees("tree", "berlin")
    assert all("404" in trouble for trouble in looking.troubles)  # a browser calls it an error
    looking.troubles.clear()
