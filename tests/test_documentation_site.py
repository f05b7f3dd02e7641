"""The documentation site is built without a warning, and every link within it leads somewhere."""

import re
from inspect import isclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from lxml import html
from own_process import run_python

import dedup.index
import dedup.scrapy_plugin
from dedup.cli import COMMANDS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "srcset"}
"""Elements that a browser loads something for, and the attributes that name it."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = ("-m", "sphinx", "-q", "-W", "--keep-going", "docs", folder)
    assert run_python(*command, cwd=ROOT, timeout=300).stderr == ""
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


def test_the_reference_has_every_command(pages: dict[str, html.HtmlElement]):
    for name in COMMANDS:
        assert f"usage: dedup {name} [-h]" in pages["report.html"].text_content()


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
