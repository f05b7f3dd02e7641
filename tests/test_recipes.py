"""Recipes with other plug-ins do what docs/recipes.md says, in processes of their own.

The settings are those of the recipes, to the letter.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
from own_process import run_python
from texts import article, page
from web import served

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```$",
    (ROOT / "docs" / "recipes.md").read_text(),
    re.DOTALL | re.MULTILINE,
)
RUN = """
from scrapy.crawler import AsyncCrawlerProcess
process = AsyncCrawlerProcess({
    "ADDONS": {"dedup.scrapy_plugin.Addon": 500},
    "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
    "CONCURRENT_REQUESTS": 1,
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,  # bytes: one page after the other, links and all
    "TELNETCONSOLE_ENABLED": False,
    **{name: value for name, value in globals().items() if name.isupper()},
})
process.crawl(TheSpider)
process.start()
"""


def block_with(text: str) -> str:
    [block] = [block for block in BLOCKS if text in block]
    return block


def stored(script: str, folder: Path) -> list[str]:
    """Return the URLs of the items that the crawl of *script* stores."""
    (folder / "crawl.py").write_text(script + RUN)
    run_python("crawl.py", cwd=folder)
    return [json.loads(line)["url"] for line in (folder / "items.jsonl").read_text().splitlines()]


def filled_by_a_script(number: int, more: str = "") -> str:
    """Return a page whose text is not there until its script has run."""
    paragraphs = f"<article><h1>Page</h1><p>{article(number)}</p>{more}</article>"
    script = f"document.body.innerHTML = {json.dumps(paragraphs)}"
    return f'<html lang="en"><title>A page</title><body><script>{script}</script></body></html>'


def test_a_browser_shows_what_is_compared(tmp_path: Path):
    pytest.importorskip("scrapy_playwright", reason="needs scrapy-playwright")
    chromium = shutil.which("chromium") or pytest.skip("needs Chromium")
    site = {
        "/page": filled_by_a_script(1),
        "/copy": filled_by_a_script(1, "<!-- a copy -->"),
        "/other": filled_by_a_script(2),
    }
    with served(site) as url:
        script = f"""
import scrapy
{block_with("ScrapyPlaywrightDownloadHandler")}
{block_with("def start_requests_of")}
PLAYWRIGHT_LAUNCH_OPTIONS = {{"executable_path": {chromium!r}, "args": ["--no-sandbox"]}}

class TheSpider(scrapy.Spider):
    name = "browser"

    async def start(self):
        for request in start_requests_of({[url + path for path in site]!r}):
            yield request

    def parse(self, response):
        yield {{"url": response.url}}
"""
        assert stored(script, tmp_path) == [f"{url}/page", f"{url}/other"]


@pytest.mark.parametrize("response", ["response", "response: DummyResponse"])
def test_items_of_page_objects_are_judged_by_their_page(response: str, tmp_path: Path):
    pytest.importorskip("scrapy_poet", reason="needs scrapy-poet")
    site = {
        "/page": page(article(1)),
        "/copy": page(article(1), footer="Mirror"),
        "/other": page(article(2)),
    }
    with served(site) as url:
        script = f"""
import scrapy
from scrapy_poet import DummyResponse
from web_poet import WebPage, field
{block_with("scrapy_poet.Addon")}

class ArticlePage(WebPage):
    @field
    def url(self):
        return str(self.response.url)

    @field
    def title(self):
        return self.css("title::text").get()

class TheSpider(scrapy.Spider):
    name = "poet"
    start_urls = {[url + path for path in site]!r}

    async def parse(self, {response}, page: ArticlePage):
        yield await page.to_item()
"""
        assert stored(script, tmp_path) == [f"{url}/page", f"{url}/other"]
