"""Whole crawls, and how much text their drops have lost; test_lost_text.py has the oracle."""

from pathlib import Path

import pytest
from crawls import crawl_site, html_report_in, known_site, report_in
from texts import article, page

OWN = "Only this paragraph tells of the seven lighthouses that were built of glass and sold abroad."
SITE = {
    "/a": page(article(1, 400)),
    "/same": page(article(1, 400), footer="Another footer"),
    "/more": page(f"{article(1, 400)} {OWN}"),
    "/other": page(article(2, 300)),
}


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_paragraph_that_only_a_dropped_page_has_is_reported_as_lost(tmp_path: Path, workers: int):
    # In their order: which of two is dropped depends on that.
    settings = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}
    result = crawl_site(SITE, DEDUP_REPORT=tmp_path, DEDUP_WORKERS=workers, **settings)
    assert result.originals.keys() == {"/same", "/more"}
    # 17 sequences have words of the paragraph, and 6 of where a page has its two halves.
    share = round(23 / 818, 6)
    figures = {"pages": 2, "pages_of_earlier_crawls": 0, "sequences": 818, "share": share}
    assert result.counts("lost/") == {**figures, "error": 0}
    url = result.url
    worst = {"url": f"{url}/more", "original": f"{url}/a", "lost": 23, "sequences": 417}
    told = {**figures, "error": 0, "is_stored": False, "lossiest": [worst]}
    assert report_in(tmp_path)["dropped_text"] == told
    assert "lighthouses" in html_report_in(tmp_path)


def test_a_copy_of_what_only_an_earlier_crawl_met_is_left_out_and_counted(tmp_path: Path):
    with known_site(SITE, tmp_path) as site:
        site.crawl("/a")
        lost = site.crawl("/more", "/other", "/same").counts("lost/")
    # The text of /same is equal to that of /a, so all of it is stored.
    assert (lost["pages"], lost["share"], lost["pages_of_earlier_crawls"]) == (1, 0, 1)
