"""The hands and eyes of a person at the console."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Locator, Page, expect

PATIENCE = 60_000
"""Milliseconds."""
OUT_OF_REACH = "net::ERR_"
"""How a browser says that it got no answer, or half of one."""


class Looking:
    """A page, and what went wrong on it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = f"{url}/console"
        self.troubles: list[str] = []
        self.outage = False
        """The server is away for now, so that it cannot be reached is no trouble."""
        page.set_default_timeout(PATIENCE)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type != "error" or (self.outage and OUT_OF_REACH in message.text):
            return
        self.troubles.append(message.text)

    def go(self, where: str) -> None:
        self.page.goto(f"{self.url}{where}")

    def the(self, name: str) -> Locator:
        return self.page.get_by_test_id(name)

    def sees(self, name: str, text: str) -> None:
        """It comes to be there by itself."""
        expect(self.the(name).first).to_contain_text(text, timeout=PATIENCE)

    def mark(self) -> None:
        """From now on the page may not be loaded anew."""
        self.page.evaluate("window.marked = true")

    def never_reloaded(self) -> bool:
        return bool(self.page.evaluate("window.marked === true"))

    def picture(self, name: str) -> None:
        """Keep one, where pictures are wanted."""
        if folder := os.environ.get("STEAD_SHOTS"):
            self.page.wait_for_timeout(300)  # sleep: transitions of the page end; only for pictures
            self.page.screenshot(path=Path(folder) / f"{name}.png", animations="disabled")

    def action(self, name: str) -> Locator:
        return self.the("actions").locator(f"[data-action={name}]")
