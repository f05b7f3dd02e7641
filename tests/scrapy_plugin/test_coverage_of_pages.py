"""Whole crawls of pages of which too little is extracted: they are counted, and items say it."""

import json
from pathlib import Path
from typing import Any

import pytest
from crawls import Crawl, crawl, spider_over
from test_evidence_in_crawls import archive, extract_cloud
from texts import article, page
from web import served

FIELDS = {"text": "text", "coverage": "coverage"}
TEASER = "A box of recent posts, of some words that stand on each page of the site."


def extract_teaser(html: str) -> Any:
    """Read a page as trafilatura does that takes one of its boxes for the main text."""
    from trafilatura import load_html

    from dedup.evidence import evidence_of
    from dedup.extraction import Extraction

    return Extraction(TEASER, evidence=evidence_of(load_html(html), TEASER, None))


def weak(result: Crawl) -> dict[str, int]:
    """How many pages were extracted too little, by what was extracted."""
    prefix = "dedup/weak/"
    return {k.removeprefix(prefix): n for k, n in result.stats.items() if k.startswith(prefix)}


@pytest.mark.parametrize("evidence", [True, False])
def test_an_item_says_how_much_of_its_page_was_extracted(evidence: str):
    site = {"/whole": page(article(1)), "/teaser": page(f"{article(2)} {TEASER}")}
    with served(site) as url:
        whole = crawl(
            spider_over(f"{url}/whole"), DEDUP_FIELDS=FIELDS, DEDUP_EVIDENCE=evidence
        )  # fmt: skip
        part = crawl(
            spider_over(f"{url}/teaser"), DEDUP_FIELDS=FIELDS, DEDUP_EVIDENCE=evidence,
            DEDUP_EXTRACTOR=extract_teaser, DEDUP_WORKERS=0,
        )  # fmt: skip
    assert [item["coverage"] for item in whole.items] == [1.0]
    assert weak(whole) == {}
    [item] = part.items
    assert item["text"] == TEASER
    assert 0 < item["coverage"] < 0.2
    assert round(item["coverage"], 2) == item["coverage"]
    assert weak(part) == {"little": 1}


def test_nobody_knows_how_much_an_extractor_found_that_does_not_tell():
    with served({"/": page(article(1))}) as url:
        result = crawl(
            spider_over(url), DEDUP_FIELDS=FIELDS, DEDUP_EXTRACTOR=lambda html: TEASER,
            DEDUP_WORKERS=0,
        )  # fmt: skip
    assert [(item["text"], item["coverage"]) for item in result.items] == [(TEASER, None)]
    assert weak(result) == {}


@pytest.mark.slow
def test_pages_of_which_a_menu_is_extracted_are_counted_by_that_wherever_figures_are(
    tmp_path: Path,
):
    """Whatever their verdict: the copy is dropped, and one body is read once."""
    site = {f"/{n}": archive(n) for n in range(3)} | {"/copy": archive(2), "/same": archive(2)}
    with served(site) as url:
        result = crawl(
            spider_over(*(url + path for path in site)), DEDUP_EXTRACTOR=extract_cloud,
            DEDUP_WORKERS=0, DEDUP_REPORT=str(tmp_path), DEDUP_FIELDS=FIELDS,
        )  # fmt: skip
    assert (len(result.items), len(result.dropped)) == (3, 2)
    assert {item["coverage"] for item in result.items} == {result.items[0]["coverage"]}
    assert result.items[0]["coverage"] < 0.2
    assert weak(result) == {"links": 5}
    [table] = [message for message in result.messages(20) if "Dedup report" in message]
    assert "Of 5 of 5 pages, less than half of the text was extracted" in table
    [numbers], [html] = tmp_path.glob("*.json"), tmp_path.glob("*Z.html")
    assert json.loads(numbers.read_text())["weak"] == {"links": 5}
    assert "less than half was extracted" in html.read_text()


def commented() -> str:
    """A page whose comments are much longer than what they are about; no extractor takes them."""
    comments = "".join(f"<p>{article(n)}</p>" for n in range(9))
    text = f"<main><p>{article(1, 60)}</p></main>"
    return f'<html><body>{text}<div id="comments" class="comments">{comments}</div></body></html>'


@pytest.mark.parametrize("extractor", ["trafilatura", "resiliparse"])
def test_each_extractor_says_how_much_it_finds(extractor: str):
    pytest.importorskip(extractor)
    site = {"/whole": page(article(1)), "/part": commented()}
    with served(site) as url:
        result = crawl(
            spider_over(*(url + path for path in site)), DEDUP_EXTRACTOR=extractor,
            DEDUP_FIELDS=FIELDS,
        )  # fmt: skip
    whole, part = (item["coverage"] for item in result.items)
    assert whole == 1.0
    assert 0 < part < 0.2
    assert weak(result) == {"little": 1}
