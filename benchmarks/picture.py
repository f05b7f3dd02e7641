"""Take the picture of the report for the documentation: docs/report.png.

    python benchmarks/picture.py

Crawls the demonstration, and shows the HTML report of that in Chromium, wide and on a phone. Needs
chromium, chromedriver, and fonts with Chinese characters (Debian: fonts-noto-cjk).
"""

import base64
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from selenium.webdriver import Chrome

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT / "tests" / "report"))

from browsers import chromium, show  # noqa: E402 (it is beside the tests of the report)

WIDE, PHONE, HEIGHT, GAP = 1000, 390, 1055, 13


def main() -> None:
    fonts = subprocess.run(["fc-list", ":lang=zh"], capture_output=True, check=True).stdout
    if not fonts.strip():
        sys.exit("no font has Chinese characters: apt-get install fonts-noto-cjk")
    with TemporaryDirectory() as name:
        crawl = [sys.executable, "-m", "scrapy", "crawl", "site", "-s", f"DEDUP_REPORT={name}"]
        subprocess.run(crawl, cwd=PROJECT, check=True)
        [report] = Path(name).glob("*Z.html")
        with chromium() as browser:
            wide, phone = (shot(browser, report, width) for width in (WIDE, PHONE))
    picture = Image.new("RGB", (WIDE + GAP + PHONE, HEIGHT), "#d5dae0")
    picture.paste(wide, (0, 0))
    picture.paste(phone, (WIDE + GAP, 0))
    picture.quantize(128).save(PROJECT / "docs" / "report.png", optimize=True)


def shot(browser: Chrome, report: Path, width: int) -> Image.Image:
    show(browser, report, width=width)
    clip = {"x": 0, "y": 0, "width": width, "height": HEIGHT, "scale": 1}
    options = {"captureBeyondViewport": True, "clip": clip}
    data = browser.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
    return Image.open(BytesIO(base64.b64decode(data)))


if __name__ == "__main__":
    main()
