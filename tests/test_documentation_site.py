"""The documentation site is built without a warning, and every link within it leads somewhere."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from inspect import isclass
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from lxml import html
from scrapy.settings import Settings

import dedup.index
import dedup.scrapy_plugin
from dedup.cli import COMMANDS
from dedup.scrapy_plugin.settings import DedupSettings

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "srcset"}
"""Elements that a browser loads something for, and the attributes that name it."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(folder)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, html.HtmlElement]:
    """The pages of the site, parsed, by their paths."""
    return {
        str(path.relative_to(site)): html.document_fromstring(path.read_text())
        for path in site.rglob("*.html")
    }


def anchors(page: html.HtmlElement) -> set[str]:
    return {"", *page.xpath("//@id"), *page.xpath("//a/@name")}


def links(page: html.HtmlElement) -> Iterator[str]:
    """Yield where a page links to, as it is written."""
    for target in page.xpath("//a/@href | //img/@src"):
        yield str(target)


def test_every_link_leads_to_a_file_and_an_anchor_that_are_there(
    site: Path, pages: dict[str, html.HtmlElement]
):
    wrong = []
    for name, page in pages.items():
        for target in links(page):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = urljoin(name, unquote(parts.path)) if parts.path else name
            if path in pages:
                if unquote(parts.fragment) not in anchors(pages[path]):
                    wrong.append(f"{name}: {target}")
            elif not (site / path).is_file():
                wrong.append(f"{name}: {target}")
    assert wrong == []


def test_a_page_needs_no_network(pages: dict[str, html.HtmlElement]):
    loaded = [
        (name, target)
        for name, page in pages.items()
        for element, attribute in LOADED.items()
        for target in page.xpath(f"//{element}/@{attribute}")
    ]
    assert loaded
    assert [pair for pair in loaded if urlsplit(pair[1]).netloc] == []


def test_every_document_is_in_the_navigation_of_the_first_page(pages: dict[str, html.HtmlElement]):
    documents = {
        str(path.relative_to(ROOT / "docs").with_suffix(".html"))
        for pattern in ("*.md", "*.rst")
        for path in (ROOT / "docs").rglob(pattern)
    }
    entries = pages["index.html"].xpath("//div[contains(@class, 'sidebar-tree')]//a/@href")
    assert documents - {"index.html"} <= {urlsplit(entry).path for entry in entries}


def test_the_reference_has_every_command_and_every_setting(pages: dict[str, html.HtmlElement]):
    for name in COMMANDS:
        assert f"usage: dedup {name} [-h]" in pages["report.html"].text_content()
    settings = DedupSettings.from_settings(Settings()).shown
    rows = pages["settings.html"].xpath("//table[thead//*[normalize-space()='default']]//tbody/tr")
    told = {row[0].text_content().strip(): row[1].text_content().strip() for row in rows}
    assert told == {name: repr(default) for name, default in settings.items()}


def test_the_api_reference_has_the_public_names(pages: dict[str, html.HtmlElement]):
    names = {
        *(f"dedup.scrapy_plugin.{name}" for name in dedup.scrapy_plugin.__all__),
        *(f"dedup.index.{name}" for name in dedup.index.__all__),
    }
    assert names <= anchors(pages["python.html"])
    for name in dedup.scrapy_plugin.__all__:
        assert isclass(getattr(dedup.scrapy_plugin, name))


def test_every_exception_that_the_documentation_names_can_be_imported():
    told = (ROOT / "docs" / "report.md").read_text()
    [dropped] = re.findall(r"`item_dropped_reasons_count/(\w.*?) count\s", told, re.DOTALL)
    names = re.findall(r"\w+", dropped.replace("and", ""))
    assert set(names) == {"ExactDuplicate", "NearDuplicate", "RepeatedPage", "UnchangedPage"}
    assert set(names) <= set(dedup.scrapy_plugin.__all__)
