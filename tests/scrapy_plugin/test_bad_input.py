"""Hostile and broken pages end in a verdict or a counted reason; their items are kept."""

import random

import pytest
from crawls import crawl_site
from texts import article, page
from web import Answer

TEXT = article(1)
NOISE = random.Random(0).randbytes(200_000)
PAGES: dict[str, Answer | str] = {
    "broken": "<html><body><p>" + TEXT + "</div></span><table><p>" + article(5),
    "truncated": page(article(6))[:-300],
    "unclosed-tag": "<html><body><p>" + article(7) + "<a href='",
    "lying-encoding": Answer(
        page("Grüße aus Köln. " + article(8)).encode("latin-1"),
        content_type="text/html; charset=utf-8",
    ),
    "utf-16": Answer(page(article(10)).encode("utf-16"), content_type="text/html"),
    "nul-bytes": page(article(11)).replace(" ", " \0"),
    "binary": Answer(NOISE, content_type="text/html"),
    "deep": "<html><body>" + "<div>" * 5000 + article(12) + "</div>" * 5000,
    "many-attributes": "<html><body " + " ".join(f"a{i}=1" for i in range(20_000)) + ">",
    "one-line": "<html><body><p>" + "x" * 5_000_000,
    "one-line-han": "<html><body><p>" + "的" * 1_000_000,
    "surrogates": "<html><body><p>&#xD800; &#xDFFF; " + article(15),
    "right-to-left": page("مرحبا بالعالم " * 50),
    "doctype-only": "<!doctype html>",
    "entities": "<p>" + "&amp;&lt;&#0;&#x110000;&bogus;" * 500,
}


@pytest.mark.slow
def test_every_bad_page_is_accounted_for_and_seen_twice_a_duplicate_or_skipped_again():
    site = {f"/{name}/{n}": body for name, body in PAGES.items() for n in (1, 2)}
    result = crawl_site(site, DEDUP_WORKERS=1, DEDUP_ACTION="mark")
    assert sorted(result.stored) == sorted(site)
    stats = result.dedup_stats
    skipped = [value for key, value in stats.items() if key.startswith("skipped/")]
    assert not [count for count in skipped if count % 2]
    assert stats["pages"] == stats["new"] + stats["exact_duplicates"] + sum(skipped) == len(site)
    marks = dict(zip(result.stored, (item.get("dedup") for item in result.items), strict=True))
    for name in PAGES:
        pair = [marks[f"/{name}/{n}"] for n in (1, 2)]
        if pair != [None, None]:
            assert {mark["verdict"] for mark in pair} == {"new", "exact-duplicate"}, name
            [original] = {mark["original"] for mark in pair} - {None}
            assert f"/{name}/" in original
    assert "errors" not in stats
    assert not result.messages()
    assert "log_count/ERROR" not in result.stats
