"""Whole crawls, and how much text their drops have lost."""

import json
from pathlib import Path
from typing import Any

import pytest
from crawls import Crawl, crawl, spider_over
from scrapy.exceptions import DropItem
from texts import CHINESE, article, edited, page, replaced
from web import Answer, served

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


def lost(result: Crawl) -> dict[str, Any]:
    prefix = "dedup/lost/"
    return {
        name.removeprefix(prefix): value
        for name, value in result.stats.items()
        if name.startswith(prefix)
    }


def crawled(site: Any, url: str, *paths: str, **settings: Any) -> Crawl:
    return crawl(spider_over(*(url + path for path in paths or site)), **settings)


def table(result: Crawl) -> str:
    """The table in the log, in one line."""
    [said] = [text for text in result.messages(0) if text.startswith("Dedup report:")]
    return " ".join(said.replace("|", " ").split())


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_paragraph_that_only_a_dropped_page_has_is_reported_as_lost(tmp_path: Path, workers: int):
    with served(SITE) as url:
        # In their order: which of two is dropped depends on that.
        settings = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}
        result = crawled(SITE, url, DEDUP_REPORT=tmp_path, DEDUP_WORKERS=workers, **settings)
    assert {item["url"] for item, _ in result.dropped} == {url + "/same", url + "/more"}
    total, gone = exact([SITE["/a"], SITE["/other"]], [SITE["/same"], SITE["/more"]])
    assert 10 <= gone <= 25
    assert lost(result) == {
        "pages": 2,
        "pages_of_earlier_crawls": 0,
        "sequences": total,
        "share": round(gone / total, 6),
        "error": 0,
    }
    [file] = tmp_path.glob("*.json")
    assert json.loads(file.read_text())["dropped_text"] == {
        **lost(result),
        "is_stored": False,
        "lossiest": [
            {
                "url": url + "/more",
                "original": url + "/a",
                "lost": gone,
                "sequences": len(sequences(SITE["/more"])),
            }
        ],
    }
    [html] = tmp_path.glob("*Z.html")
    assert f"{total:,}" in html.read_text()
    assert "lighthouses" in html.read_text()


def test_the_table_in_the_log_says_it():
    with served(SITE) as url:
        result = crawled(SITE, url)
    said = table(result)
    total, gone = exact([SITE["/a"], SITE["/other"]], [SITE["/same"], SITE["/more"]])
    assert f"text dropped {gone} of {total} word sequences are nowhere else" in said


def test_a_page_that_is_marked_would_be_lost():
    with served(SITE) as url:
        result = crawled(SITE, url, DEDUP_ACTION="mark")
    assert len(result.items) == 4
    total, gone = exact([SITE["/a"], SITE["/other"]], [SITE["/same"], SITE["/more"]])
    assert (lost(result)["sequences"], lost(result)["share"]) == (total, round(gone / total, 6))
    assert f"text marked {gone} of {total} word sequences" in table(result)


class Failing:
    """A storage that fails for some pages."""

    def process_item(self, item: Any) -> Any:
        if item["url"].endswith("/a"):
            raise DropItem("no room")
        return item


def test_only_what_was_stored_counts_as_stored():
    """The page that its copy would be dropped for is not stored, so the copy is."""
    with served(SITE) as url:
        result = crawled(SITE, url, ITEM_PIPELINES={Failing: 300}, DEDUP_METHOD="exact")
    stored = [item["url"].removeprefix(url) for item in result.items]
    assert stored == ["/same", "/more", "/other"]
    assert lost(result) == {
        "pages": 0, "pages_of_earlier_crawls": 0, "sequences": 0, "share": 0, "error": 0,
    }  # fmt: skip


def test_what_a_later_page_has_is_not_lost():
    site = {**SITE, "/own": page(f"{article(3, 200)} {OWN}")}
    with served(site) as url:
        result = crawled(site, url)
    kept = [site[path] for path in ("/a", "/other", "/own")]
    total, gone = exact(kept, [SITE["/same"], SITE["/more"]])
    assert gone < 12
    assert (lost(result)["sequences"], lost(result)["share"]) == (total, round(gone / total, 6))


def test_a_body_that_is_met_twice_counts_twice():
    site = {"/a": SITE["/a"], "/more": SITE["/more"], "/again": SITE["/more"]}
    with served(site) as url:
        result = crawled(site, url)
    assert result.stats["dedup/bodies_repeated"] == 1
    total, gone = exact([SITE["/a"]], [SITE["/more"]] * 2)
    assert (lost(result)["sequences"], lost(result)["share"]) == (total, round(gone / total, 6))


def test_the_texts_of_items_count_with_a_field_of_their_own():
    texts = [article(1, 200), f"{article(1, 200)} {OWN}", CHINESE, edited(CHINESE)]

    def parse(self: Any, response: Any) -> Any:
        for number, text in enumerate(texts):
            yield {"url": f"http://items/{number}", "body": text}

    with served(SITE) as url:
        result = crawl(
            spider_over(url + "/a", parse=parse), DEDUP_ITEM_FIELD="body", DEDUP_METHOD="verified"
        )
    dropped = [item["url"] for item, _ in result.dropped]
    assert "http://items/1" in dropped
    kept = {item["url"] for item in result.items}
    documents = {f"http://items/{n}": Document.from_main_text(t) for n, t in enumerate(texts)}
    own = {
        key: {tuple(one.tokens[at : at + 3]) for at in range(len(one.tokens) - 2)}
        for key, one in documents.items()
    }
    stored = set().union(*(own[key] for key in kept))
    total, gone = (sum(len(own[key] - less) for key in dropped) for less in (set(), stored))
    assert (lost(result)["sequences"], lost(result)["share"]) == (total, round(gone / total, 6))


@pytest.mark.parametrize("order", [("/a", "/more"), ("/more", "/a")])
def test_a_copy_of_what_an_earlier_crawl_stored_is_judged_if_that_is_met_again(
    tmp_path: Path, order: tuple[str, ...]
):
    with served(SITE) as url:
        crawled(SITE, url, "/a", DEDUP_INDEX=tmp_path / "pages.sqlite")
        result = crawled(SITE, url, *order, DEDUP_INDEX=tmp_path / "pages.sqlite")
    assert result.items == []
    total, gone = exact([SITE["/a"]], [SITE["/more"]])
    assert lost(result) == {
        "pages": 1,
        "pages_of_earlier_crawls": 0,
        "sequences": total,
        "share": round(gone / total, 6),
        "error": 0,
    }


def test_a_copy_of_what_only_an_earlier_crawl_met_is_left_out_and_counted(tmp_path: Path):
    with served(SITE) as url:
        crawled(SITE, url, "/a", DEDUP_INDEX=tmp_path / "pages.sqlite")
        result = crawled(
            SITE, url, "/more", "/other", "/same", DEDUP_INDEX=tmp_path / "pages.sqlite"
        )
    # The text of /same is equal to that of /a, so all of it is stored.
    assert lost(result) == {
        "pages": 1,
        "pages_of_earlier_crawls": 1,
        "sequences": len(sequences(SITE["/same"])),
        "share": 0,
        "error": 0,
    }


@pytest.mark.slow
def test_in_a_larger_crawl_the_exact_share_is_within_the_error():
    site, kept, dropped = {}, [], []
    for number in range(60):
        text = article(number, 2500)
        site[f"/{number}"] = page(text)
        site[f"/{number}/copy"] = page(replaced(text, 1 + number % 20))
    with served(site) as url:
        result = crawled(site, url, keep_log=False)
    names = {item["url"].removeprefix(url) for item, _ in result.dropped}
    for path, html in site.items():
        (dropped if path in names else kept).append(html)
    assert len(dropped) > 40
    total, gone = exact(kept, dropped)
    found = lost(result)
    assert found["sequences"] == total
    assert 0 < found["error"] < 0.01
    assert abs(found["share"] - gone / total) <= found["error"]


@pytest.mark.slow
def test_hostile_pages_are_counted_and_cost_no_items():
    """A page of 10 MB, pages of one word, and an empty one."""
    words = " ".join(f"w{number}" for number in range(1_200_000))
    site = {
        **SITE,
        "/huge": Answer(f"{words} end".encode(), content_type="text/html"),
        "/huge/copy": Answer(f"{words} another end".encode(), content_type="text/html"),
        "/one": page("word"),
        "/one/copy": page("word", footer="Another footer"),
        "/none": Answer(b"<html><body></body></html>"),
    }
    with served(site) as url:
        result = crawled(
            site, url, DEDUP_EXTRACTOR=lambda html: html, limits={"MAX_PAGE_BYTES": 20_000_000},
            DEDUP_EVIDENCE=False, DOWNLOAD_MAXSIZE=0, DOWNLOAD_WARNSIZE=0, keep_log=False,
        )  # fmt: skip
    assert "dedup/errors" not in result.stats
    found = lost(result)
    assert found["sequences"] > 1_200_000
    assert 0 < found["error"] < 0.05
