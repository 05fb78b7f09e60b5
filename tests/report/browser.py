"""Chromium with a page open in it, and what it did."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1400,1000",
)  # fmt: skip
PATIENCE_S = 60


def start() -> Any:
    """A driver for Debian's Chromium, which logs what the page says and what it fetches. Skips without either."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        pytest.skip("chromium and chromium-driver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


class Tab:
    """One page; `run` takes JavaScript."""

    def __init__(self, driver: Any, path: Path) -> None:
        self.driver = driver
        self.path = path
        driver.get_log("browser")
        driver.get_log("performance")
        driver.get(path.as_uri())
        self.until("graphView.panes.every((p) => p.graph)")

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, condition: str) -> None:
        """Waits for a condition on the page."""
        from selenium.webdriver.support.ui import WebDriverWait

        wanted: Callable[[Any], Any] = lambda d: d.execute_script(f"return Boolean({condition})")  # noqa: E731
        WebDriverWait(self.driver, PATIENCE_S).until(wanted, condition)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        (found,) = self.all(selector)
        return found

    def said(self) -> list[str]:
        """What the page has logged since it was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def fetched(self) -> list[str]:
        """Every address that was asked for since then, but for the page itself and its own worker."""
        entries = (json.loads(e["message"])["message"] for e in self.driver.get_log("performance"))
        asked = [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if url != self.path.as_uri() and not url.startswith("blob:")]


def marked(tab: Tab) -> list[list[str]]:
    """The labels of the nodes that are marked, before and after."""
    return tab.run(
        "return [0, 1].map((side) => [...graphView.panes[side].state.marked].filter((n) => n.side === side).map((n) => n.label))"
    )
