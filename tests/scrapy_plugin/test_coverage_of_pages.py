"""Whole crawls of pages of which too little is extracted: they are counted, and items say it."""

from pathlib import Path
from typing import Any

import pytest
from crawls import crawl_site, html_report_in, report_in
from test_evidence_in_crawls import archive, extract_cloud, extraction
from texts import article, page

FIELDS = {"text": "text", "coverage": "coverage"}
TEASER = "A box of recent posts, of some words that stand on each page of the site."


def extract_teaser(html: str) -> Any:
    """Read a page as trafilatura does that takes one of its boxes for the main text."""
    return extraction(html, TEASER)


@pytest.mark.parametrize("evidence", [True, False])
def test_an_item_says_how_much_of_its_page_was_extracted(evidence: str):
    options = {"DEDUP_FIELDS": FIELDS, "DEDUP_EVIDENCE": evidence}
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


@pytest.mark.slow
def test_pages_of_which_a_menu_is_extracted_are_counted_by_that_wherever_figures_are(
    tmp_path: Path,
):
    """Whatever their verdict: the copy is dropped, and one body is read once."""
    site = {f"/{n}": archive(n) for n in range(3)} | {"/copy": archive(2), "/same": archive(2)}
    result = crawl_site(
        site, DEDUP_EXTRACTOR=extract_cloud, DEDUP_REPORT=str(tmp_path), DEDUP_FIELDS=FIELDS
    )
    assert (len(result.items), len(result.dropped)) == (3, 2)
    assert {item["coverage"] for item in result.items} == {result.items[0]["coverage"]}
    assert result.items[0]["coverage"] < 0.2
    assert result.counts("weak/") == {"links": 5}
    assert "Of 5 of 5 pages, less than half of the text was extracted" in result.table
    assert report_in(tmp_path)["weak"] == {"links": 5}
    assert "less than half was extracted" in html_report_in(tmp_path)


def commented() -> str:
    """A page whose comments are much longer than what they are about; no extractor takes them."""
    comments = "".join(f"<p>{article(n)}</p>" for n in range(9))
    text = f"<main><p>{article(1, 60)}</p></main>"
    return f'<html><body>{text}<div id="comments" class="comments">{comments}</div></body></html>'


@pytest.mark.parametrize("extractor", ["trafilatura", "resiliparse"])
def test_each_extractor_says_how_much_it_finds(extractor: str):
    pytest.importorskip(extractor)
    site = {"/whole": page(article(1)), "/part": commented()}
    result = crawl_site(site, DEDUP_EXTRACTOR=extractor, DEDUP_FIELDS=FIELDS)
    whole, part = (item["coverage"] for item in result.items)
    assert whole == 1.0
    assert 0 < part < 0.2
    assert result.counts("weak/") == {"little": 1}
