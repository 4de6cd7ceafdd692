"""A kind of one's own in the console: among the lifecycles, in the tree, and with its actions."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.looking import PATIENCE, Looking
from tests.controller.test_kinds import NOTE
from tests.dev.trial import Trial

pytestmark = [pytest.mark.slow, pytest.mark.long]

LATER = NOTE.replace(
    "  - {name: delete",
    "  - {name: reopen, description: Open it again., source: Shut, target: Open, work: none}\n  - {name: delete",
).replace("class: final", "class: stable")


def register(cell: Trial, document: str) -> None:
    answer = cell.stead("lifecycle register -", document)
    assert answer.returncode == 0, answer.stderr


def test_it_is_shown_drawn_and_acted_on(looking: Looking, cell: Trial) -> None:
    register(cell, NOTE)
    assert cell.stead("resource create note desk/milk").returncode == 0
    looking.go("/lifecycles")
    card = looking.page.locator(".card", has_text="Your own")
    expect(card).to_contain_text("note", timeout=PATIENCE)
    expect(card).to_contain_text("registered, version 1")
    looking.picture("own-lifecycles")
    card.get_by_role("link", name="note").click()
    looking.sees("registered", "By anonymous")
    looking.sees("registered", "crashes 2")
    looking.sees("registered", "stead resource create note NAMESPACE/NAME --lane LANE")
    looking.sees("explored", "3 worlds")
    looking.sees("findings", "No findings")
    expect(looking.the("diagram").locator("svg")).to_be_visible(timeout=PATIENCE)
    looking.picture("own-lifecycle")

    looking.go("/tree")
    tree = looking.page.get_by_role("treeitem", name="desk")
    expect(tree).to_contain_text("Open", timeout=PATIENCE)
    looking.picture("own-tree")

    looking.go("/r/desk/milk")
    looking.mark()
    expect(looking.action("shut")).to_have_attribute("data-allowed", "true", timeout=PATIENCE)
    expect(looking.action("create")).to_have_count(0)
    looking.picture("own-resource")
    looking.action("shut").click()
    expect(looking.action("shut")).to_have_attribute("data-allowed", "false", timeout=PATIENCE)
    looking.action("shut").click()
    looking.sees("reasons", "shut cannot start in Shut")
    assert looking.never_reloaded()


def test_another_document_is_seen_without_a_new_page(looking: Looking, cell: Trial) -> None:
    register(cell, LATER)
    assert cell.stead("resource create note desk/bread").returncode == 0
    assert cell.stead("resource request desk/bread shut").returncode == 0
    looking.go("/r/desk/bread")
    expect(looking.action("reopen")).to_have_attribute("data-allowed", "true", timeout=PATIENCE)
    looking.action("reopen").click()
    expect(looking.action("reopen")).to_have_attribute("data-allowed", "false", timeout=PATIENCE)
