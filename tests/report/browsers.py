"""A real Chromium without a screen, for tests of what is made for browsers."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-dev-shm-usage"
).split()


@contextmanager
def chromium(language: str = "en") -> "Iterator[Chrome]":
    """Yield a browser whose console is kept, and end it; skip the test where there is none."""
    # Files with tests of a browser have others, too, which have no use for it.
    from selenium.webdriver import Chrome
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (browser and driver):
        pytest.skip("needs Chromium: apt-get install chromium chromium-driver")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options = Options()
        options.binary_location = browser
        for flag in (*FLAGS, f"--user-data-dir={folder}", "--window-size=1280,900"):
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"intl.accept_languages": language})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = Service(driver, log_output=subprocess.DEVNULL)
        page = Chrome(options=options, service=service)
        try:
            yield page
        finally:
            page.quit()


def show(browser: "Chrome", path: Path, *, width: int = 1280, dark: bool = False) -> None:
    """Open the file at *path*, as on a screen of *width* CSS pixels."""
    features = [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce"},  # clicks do not wait for a scroll
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(path.as_uri())


def console(browser: "Chrome") -> list[str]:
    """Return what the browser complained of since the last call."""
    return [entry["message"] for entry in browser.get_log("browser")]
