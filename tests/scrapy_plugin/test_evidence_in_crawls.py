"""Whole crawls of pages whose main texts match, though they are no copies.

And of pages of which too little is extracted: they are counted, and items say it.
"""

from pathlib import Path

import commands
import pytest
from collections_on_disk import write_lines
from crawls import crawl_site, html_report_in, report_in
from texts import article, page, replaced
from trafilatura import load_html

from dedup.evidence import VisibleText
from dedup.extraction import Extraction


def titled(title: str, headline: str = "", text: str = "") -> str:
    """A page that has a main text only if there is a *headline*."""
    body = f"<article><h1>{headline}</h1><p>{text}</p></article>" if headline else ""
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>"


def scanned(site: dict[str, str], url: str, folder: Path) -> list[str]:
    """The paths of *site* that a scan of its pages in this order keeps."""
    rows = [{"url": url + path, "html": html} for path, html in site.items()]
    records = write_lines(folder / "pages.jsonl", rows)
    _, places, _ = commands.scanned(records, "--html-field", "html")
    return [[*site][place] for place in places]


@pytest.mark.slow
def test_a_crawl_learns_the_titles_of_all_pages_that_it_meets_as_a_scan_does(tmp_path: Path):
    """A title that a quarter of them have is that of the site, and the headlines decide."""
    text, shop = article(1), "Town shop"
    site = {f"/c{n}": titled(f"Title {n}", f"Head {n}", article(100 + n)) for n in range(12)}
    site |= {f"/e{n}": titled(shop) for n in range(12)}  # which have no text
    site |= {"/x": titled(shop, "Alpha", text), "/y": titled(shop, "Beta", replaced(text, 1))}
    result = crawl_site(site)
    assert "/y" in scanned(site, result.url, tmp_path)
    assert "/y" in result.stored
    assert result.counts("objections/") == {"other_title": 1}


def of_library(path: str, more: str = "") -> str:
    """A page of the classes of a library, which its URL names."""
    name = path.split("/")[-2]
    return titled("Members", "All members", f"Of {name}: {article(1, 300)}{more}")


PATHS = [f"/api/{name}/members.html" for name in ("SmallLamp", "BigLamp", "Torch")]
LAMPS = {path: of_library(path) for path in PATHS}
LAMPS["/api/v2/Torch/members.html"] = of_library(PATHS[2], " Since.")  # another version


def test_pages_that_name_what_their_urls_name_are_kept_by_a_crawl_and_a_scan(tmp_path: Path):
    result = crawl_site(LAMPS, DEDUP_MAX_DISTANCE=11)
    assert result.originals == {"/api/v2/Torch/members.html": PATHS[2]}
    assert result.counts("objections/") == {"other_address": 2}
    assert scanned(LAMPS, result.url, tmp_path) == PATHS
    without = crawl_site(LAMPS, DEDUP_MAX_DISTANCE=11, DEDUP_EVIDENCE=False)
    assert (without.stored, without.counts("objections/")) == (PATHS[:1], {})


EDITED = {
    "/one": page(article(1), title="The ferry"),
    "/copy": page(replaced(article(1), 3), title="The ferry"),
    "/other": page(replaced(article(1), 2), title="The piano"),
}


def test_stats_table_report_and_mark_say_why_a_page_was_kept(tmp_path: Path):
    options = {"DEDUP_MAX_DISTANCE": 8, "DEDUP_ACTION": "mark", "DEDUP_REPORT": str(tmp_path)}
    result = crawl_site(EDITED, **options)
    assert (result.stored, result.dropped) == ([*EDITED], [])
    marks = [item["dedup"] for item in result.items]
    assert [mark["verdict"] for mark in marks] == ["new", "near-duplicate", "new"]
    assert [mark["objection"] for mark in marks] == [None, None, "other title"]
    assert [mark["original"] for mark in marks] == [None, f"{result.url}/one", f"{result.url}/one"]
    assert result.stats["dedup/objections/other_title"] == 1
    [row] = [line for line in result.table.splitlines() if "new, though alike" in line]
    assert "1 (33.3%): other title" in row
    assert "text marked" in result.table  # and not dropped
    assert report_in(tmp_path)["objections"] == {"other_title": 1}
    assert "another title" in html_report_in(tmp_path)


FIELDS = {"text": "text", "coverage": "coverage"}
TEASER = "A box of recent posts, of some words that stand on each page of the site."


def extract_teaser(html: str) -> Extraction:
    """Read a page as trafilatura does that takes one of its boxes for the main text."""
    return Extraction(TEASER, evidence=VisibleText(load_html(html)).evidence(TEASER, None))


def test_an_item_says_how_much_of_its_page_was_extracted():
    options = {"DEDUP_FIELDS": FIELDS}
    whole = crawl_site({"/whole": page(article(1))}, **options)
    assert [item["coverage"] for item in whole.items] == [1.0]
    assert whole.counts("weak/") == {}
    teaser = {"/teaser": page(f"{article(2)} {TEASER}")}
    part = crawl_site(teaser, DEDUP_EXTRACTOR=extract_teaser, **options)
    [item] = part.items
    assert item["text"] == TEASER
    assert 0 < item["coverage"] < 0.2
    assert round(item["coverage"], 2) == item["coverage"]
    assert part.counts("weak/") == {"little": 1}
    # Nobody knows it of an extractor that does not tell.
    result = crawl_site(teaser, DEDUP_EXTRACTOR=lambda html: TEASER, **options)
    assert [(item["text"], item["coverage"]) for item in result.items] == [(TEASER, None)]
    assert result.counts("weak/") == {}
