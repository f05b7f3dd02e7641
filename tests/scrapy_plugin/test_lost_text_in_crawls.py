"""Whole crawls, and how much text their drops have lost."""

from pathlib import Path
from typing import Any

import pytest
from crawls import crawl_site, html_report_in, known_site, report_in
from texts import article, page

from dedup.extraction import trafilatura
from dedup.text import Document

OWN = "Only this paragraph tells of the seven lighthouses that were built of glass and sold abroad."
SITE = {
    "/a": page(article(1, 400)),
    "/same": page(article(1, 400), footer="Another footer"),
    "/more": page(f"{article(1, 400)} {OWN}"),
    "/other": page(article(2, 300)),
}


def sequences(html: str) -> set[tuple[str, ...]]:
    """The oracle: what is extracted of a page, in all of its 3-word sequences."""
    tokens = Document.from_main_text(trafilatura(html).text).tokens
    return {tuple(tokens[at : at + 3]) for at in range(len(tokens) - 2)}


def exact(kept: list[str], dropped: list[str]) -> tuple[int, int]:
    """How many sequences the dropped pages have, and how many of them no kept one has."""
    stored = set().union(*map(sequences, kept))
    return sum(len(sequences(html)) for html in dropped), sum(
        len(sequences(html) - stored) for html in dropped
    )


def lost(kept: list[str], dropped: list[str]) -> dict[str, Any]:
    """The stats of the text of *dropped* pages, which were all compared, beside *kept* ones."""
    total, gone = exact(kept, dropped)
    return {
        "pages": len(dropped),
        "pages_of_earlier_crawls": 0,
        "sequences": total,
        "share": round(gone / total, 6) if total else 0,
        "error": 0,
    }


KEPT, DROPPED = [SITE["/a"], SITE["/other"]], [SITE["/same"], SITE["/more"]]


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_paragraph_that_only_a_dropped_page_has_is_reported_as_lost(tmp_path: Path, workers: int):
    # In their order: which of two is dropped depends on that.
    settings = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}
    result = crawl_site(SITE, DEDUP_REPORT=tmp_path, DEDUP_WORKERS=workers, **settings)
    assert result.originals.keys() == {"/same", "/more"}
    total, gone = exact(KEPT, DROPPED)
    assert 10 <= gone <= 25
    assert result.counts("lost/") == lost(KEPT, DROPPED)
    assert report_in(tmp_path)["dropped_text"] == {
        **lost(KEPT, DROPPED),
        "is_stored": False,
        "lossiest": [
            {
                "url": result.url + "/more",
                "original": result.url + "/a",
                "lost": gone,
                "sequences": len(sequences(SITE["/more"])),
            }
        ],
    }
    html = html_report_in(tmp_path)
    assert f"{total:,}" in html
    assert "lighthouses" in html
    line = f"text dropped {gone} of {total} word sequences are nowhere else"
    assert line in in_one_line(result.table)


def in_one_line(table: str) -> str:
    return " ".join(table.replace("|", " ").split())


def test_a_page_that_is_marked_would_be_lost():
    result = crawl_site(SITE, DEDUP_ACTION="mark")
    assert len(result.items) == 4
    assert result.counts("lost/") == lost(KEPT, DROPPED)
    total, gone = exact(KEPT, DROPPED)
    assert f"text marked {gone} of {total} word sequences" in in_one_line(result.table)


def test_a_copy_of_what_only_an_earlier_crawl_met_is_left_out_and_counted(tmp_path: Path):
    with known_site(SITE, tmp_path) as site:
        site.crawl("/a")
        result = site.crawl("/more", "/other", "/same")
    # The text of /same is equal to that of /a, so all of it is stored.
    stored = lost([SITE["/a"]], [SITE["/same"]])
    assert result.counts("lost/") == {**stored, "pages_of_earlier_crawls": 1}
