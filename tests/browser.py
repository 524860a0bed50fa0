"""Chromium over WebDriver, with the standard library alone."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars",
]  # fmt: skip
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
TAB, ENTER, ESCAPE = "\ue004", "\ue007", "\ue00c"


class Browser:
    """One window; its size and colours are those that a test asks for."""

    def __init__(self, address: str, program: str, profile: Path) -> None:
        self.address = address
        options = {"binary": program, "args": [*FLAGS, f"--user-data-dir={profile}"]}
        always = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": always}})
        self.session = f"/session/{made['sessionId']}"

    def ask(self, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=verb)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def post(self, path: str, **body: Any) -> Any:
        return self.ask("POST", self.session + path, body)

    def tell(self, command: str, **params: Any) -> Any:
        """A command of Chromium's own protocol."""
        return self.post("/goog/cdp/execute", cmd=command, params=params)

    def open(self, page: Path, width: int, height: int = 1000, scheme: str = "light") -> None:
        """Open a page at a width, in light or dark, and wait until its script is done."""
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.tell("Emulation.setEmulatedMedia", features=[feature])
        self.post("/url", url=f"file://{page}")
        end = time.monotonic() + 90
        while not self.run("return document.documentElement.dataset.ready === 'yes'"):
            assert time.monotonic() < end, "the page's script did not finish"
            time.sleep(0.1)

    def run(self, script: str, *args: Any) -> Any:
        return self.post("/execute/sync", script=script, args=list(args))

    def complaints(self) -> list[str]:
        """What the console has heard since it was last asked."""
        return [entry["message"] for entry in self.post("/se/log", type="browser")]

    def press(self, key: str) -> None:
        strokes = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keys", "actions": strokes}]
        self.post("/actions", actions=actions)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """What is seen now, or the page from its head to its foot."""
        made = self.tell("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(made["data"]))

    def printed(self) -> bytes:
        return base64.b64decode(self.tell("Page.printToPDF", preferCSSPageSize=True)["data"])


@contextmanager
def opened(profile: Path) -> Iterator[Browser]:
    """A browser for a test, or the reason why there is none."""
    driver = shutil.which("chromedriver")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if driver is None or program is None:
        pytest.skip("Chromium is missing (on Debian: apt-get install chromium chromium-driver).")
    process = subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if "started successfully on port" in line:
                port = int(line.strip().rstrip(".").rpartition(" ")[2])
                break
        else:
            pytest.fail("chromedriver ended without naming its port.")
        browser = Browser(f"http://127.0.0.1:{port}", program, profile)
        try:
            yield browser
        finally:
            browser.ask("DELETE", browser.session)
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()
