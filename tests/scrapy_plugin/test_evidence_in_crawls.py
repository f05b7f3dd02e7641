"""Whole crawls of pages whose main texts match, though they are no copies."""

import json
from pathlib import Path
from typing import Any

import pytest
from crawls import Crawl, crawl, spider_over
from texts import article, page, replaced
from web import served

from dedup.cli import main

SETTINGS = (True, False)
TAGS = "alder birch cedar elm fir hazel larch maple oak pine rowan willow".split()


def titled(title: str, headline: str = "", text: str = "") -> str:
    """A page that has a main text only if there is a *headline*."""
    body = f"<article><h1>{headline}</h1><p>{text}</p></article>" if headline else ""
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>"


def scanned(site: dict[str, str], url: str, folder: Path) -> list[str]:
    """The paths of *site* that a scan of its pages in this order keeps."""
    records, kept = folder / "pages.jsonl", folder / "kept.jsonl"
    rows = [{"url": url + path, "html": html} for path, html in site.items()]
    records.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    assert main(["scan", str(records), "-o", str(kept), "--html-field", "html"]) == 0
    lines = kept.read_text("utf-8").splitlines()
    return [json.loads(line)["url"].removeprefix(url) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("others", ["skipped", "unchanged"])
def test_a_crawl_learns_the_titles_of_all_pages_that_it_meets_as_a_scan_does(
    others: str, tmp_path: Path
):
    """A title that a quarter of them have is that of the site, and the headlines decide."""
    text, shop = article(1), "Town shop"
    site = {f"/c{n}": titled(f"Title {n}", f"Head {n}", article(100 + n)) for n in range(12)}
    if others == "skipped":
        site |= {f"/e{n}": titled(shop) for n in range(12)}
    else:
        site |= {f"/u{n}": titled(shop, f"Headline {n}", article(200 + n)) for n in range(12)}
    pair = {"/x": titled(shop, "Alpha", text), "/y": titled(shop, "Beta", replaced(text, 1))}
    settings = {"DEDUP_INDEX": str(tmp_path / "pages.sqlite")} if others == "unchanged" else {}
    with served(site | pair) as url:
        if others == "unchanged":
            crawled(site, url, **settings)
        stored, dropped, result = crawled(site | pair, url, **settings)
        assert "/y" in scanned(site | pair, url, tmp_path)
    assert "/y" in stored
    assert "/y" not in dropped
    assert objections(result) == {"other_title": 1}


def extract_cloud(html: str) -> Any:
    """Read a page as trafilatura does that takes the tag cloud for its main text."""
    from trafilatura import load_html

    from dedup.evidence import evidence_of
    from dedup.extraction import Extraction

    tree = load_html(html)
    text, title = " ".join(TAGS * 3), tree.findtext(".//title")
    return Extraction(text, title, evidence=evidence_of(tree, text, title))


def archive(number: int, footer: str = "Footer") -> str:
    """An archive: the beginnings of five articles, beside a cloud of tags."""
    posts = "".join(
        f'<h2><a href="/post/{number}-{n}">{article(10 * number + n, 6)}</a></h2>'
        f"<p>{article(100 + 10 * number + n, 40)}</p>"
        for n in range(5)
    )
    cloud = "".join(f'<a href="/tag/{tag}">{tag}</a> ' for tag in TAGS) * 3
    return (
        f"<html><head><title>Archive</title></head><body><h1>Archive</h1>{posts}"
        f"<div>{cloud}</div><footer>{footer}</footer></body></html>"
    )


def crawled(site: dict[str, str], url: str, **settings: Any) -> tuple[list[str], list[str], Crawl]:
    """The paths of *site* that were stored and dropped, and the crawl."""
    result = crawl(spider_over(*(url + path for path in site)), **settings)
    stored = [item["url"].removeprefix(url) for item in result.items]
    return stored, [item["url"].removeprefix(url) for item, _ in result.dropped], result


def objections(result: Crawl) -> dict[str, int]:
    """How many pages were kept, by the reason."""
    prefix = "dedup/objections/"
    return {k.removeprefix(prefix): n for k, n in result.stats.items() if k.startswith(prefix)}


@pytest.mark.parametrize(("evidence", "kept"), [(True, 4), (False, 1)])
def test_archives_of_which_only_the_tag_cloud_is_extracted_are_kept(evidence: bool, kept: int):
    """A copy that is equal but for its footer is dropped all the same."""
    site = {f"/{n}": archive(n) for n in range(4)} | {"/copy": archive(2, "Another footer")}
    with served(site) as url:
        stored, dropped, result = crawled(
            site, url, DEDUP_EVIDENCE=evidence, DEDUP_EXTRACTOR=extract_cloud
        )
    assert stored == [f"/{n}" for n in range(kept)]
    assert dropped == [*site][kept:]
    assert objections(result) == ({"weak_evidence": 3} if kept == 4 else {})
    originals = [error.verdict.original.removeprefix(url) for _, error in result.dropped]
    assert originals[-1] == ("/2" if kept == 4 else "/0")


@pytest.mark.parametrize(("evidence", "kept"), [(True, 3), (False, 1)])
def test_pages_of_a_template_that_are_named_by_their_urls_are_kept(
    evidence: bool, kept: int, tmp_path: Path
):
    """As the classes of a library; versions of one of them are copies all the same."""
    text = article(1, 300)
    site = {
        f"/api/{name}/members.html": titled("Members", "All members", f"Of {name}: {text}")
        for name in ("SmallLamp", "LargeLamp", "DeskLamp")
    }
    site["/api/v2/DeskLamp/members.html"] = site["/api/DeskLamp/members.html"].replace(
        "</article>", "Since.</article>"
    )
    with served(site) as url:
        stored, _, result = crawled(site, url, DEDUP_EVIDENCE=evidence)
        if evidence:
            assert scanned(site, url, tmp_path) == stored
    assert stored == [*site][:kept]
    assert objections(result) == ({"other_address": 2} if evidence else {})


@pytest.mark.slow
@pytest.mark.parametrize(("evidence", "times", "is_kept"), [
    (True, 1.3, True), (False, 1.3, False), (True, 1.15, False), (True, 1.0, False),
])  # fmt: skip
@pytest.mark.parametrize("is_first", [False, True])
def test_a_page_that_is_much_longer_than_its_near_original_is_kept(
    evidence: bool, times: float, is_kept: bool, is_first: bool
):
    text = article(1, 400)
    longer = f"{text} {' '.join(text.split()[: round(400 * (times - 1))])}"
    site = {"/short": page(text), "/long": page(longer)}
    if is_first:
        site = dict(reversed(site.items()))
    with served(site) as url:
        stored, dropped, result = crawled(site, url, DEDUP_EVIDENCE=evidence, DEDUP_MAX_DISTANCE=15)
    assert (len(stored), len(dropped)) == ((2, 0) if is_kept else (1, 1))
    reason = f"{'shorter' if is_first else 'longer'}_than_its_original"
    assert objections(result) == ({reason: 1} if is_kept else {})


@pytest.mark.parametrize(("words", "kept"), [
    (45, {True: 2, False: 1}), (60, {True: 1, False: 1}),
])  # fmt: skip
@pytest.mark.parametrize("evidence", SETTINGS)
def test_equal_main_texts_under_another_title_and_headline_are_two_pages_if_they_are_short(
    words: int, kept: dict[bool, int], evidence: bool
):
    """The headline is no part of what is extracted here."""
    text = article(1, words)
    site = {
        f"/{name}": f"<html><head><title>{name}</title></head><body><header><b>x</b></header>"
        f"<h1>The {name}</h1><p>{text}</p></body></html>"
        for name in ("alder", "birch")
    }
    with served(site) as url:
        stored, _, result = crawled(
            site, url, DEDUP_EVIDENCE=evidence, DEDUP_EXTRACTOR=extract_paragraph
        )
    assert len(stored) == kept[evidence]
    assert objections(result) == ({"other_title": 1} if len(stored) == 2 else {})


def extract_paragraph(html: str) -> Any:
    """Read the paragraphs of a page, without its headline."""
    from trafilatura import load_html

    from dedup.evidence import evidence_of
    from dedup.extraction import Extraction

    tree = load_html(html)
    text, title = tree.findtext(".//p"), tree.findtext(".//title")
    return Extraction(text, title, evidence=evidence_of(tree, text, title))


@pytest.mark.parametrize(("evidence", "title", "kept"), [
    (True, "A statement", ["/comment", "/whole"]),
    (True, "Of the mill", ["/comment", "/whole", "/statement"]),
    (False, "Of the mill", ["/comment", "/whole"]),
])  # fmt: skip
def test_a_statement_that_a_comment_quotes_is_dropped_but_no_page_that_quotes_another(
    evidence: bool, title: str, kept: list[str]
):
    """However short it is beside it; under another title and headline it is another page."""
    statement, comment = article(1, 150), article(2, 300)
    site = {
        "/comment": page(comment, title="The mayor"),
        "/whole": page(f"{comment} {statement} {article(3, 150)}", title="A statement"),
        "/statement": page(statement, title=title),
    }
    with served(site) as url:
        stored, dropped, result = crawled(
            site, url, DEDUP_EVIDENCE=evidence, DEDUP_METHOD="containment"
        )
    assert stored == kept
    assert dropped == [path for path in site if path not in kept]
    assert objections(result) == ({"other_title": 1} if len(kept) == 3 else {})


EDITED = {
    "/one": page(article(1), title="The ferry"),
    "/copy": page(replaced(article(1), 3), title="The ferry"),
    "/other": page(replaced(article(1), 2), title="The piano"),
}


def test_stats_table_report_and_mark_say_why_a_page_was_kept(tmp_path: Path):
    with served(EDITED) as url:
        stored, dropped, result = crawled(
            EDITED, url, DEDUP_MAX_DISTANCE=8, DEDUP_ACTION="mark", DEDUP_REPORT=str(tmp_path)
        )
    assert (stored, dropped) == ([*EDITED], [])
    marks = [item["dedup"] for item in result.items]
    assert [mark["verdict"] for mark in marks] == ["new", "near-duplicate", "new"]
    assert [mark["objection"] for mark in marks] == [None, None, "other title"]
    assert [mark["original"] for mark in marks] == [None, f"{url}/one", f"{url}/one"]
    assert result.stats["dedup/objections/other_title"] == 1
    [table] = [message for message in result.messages(20) if "Dedup report" in message]
    [row] = [line for line in table.splitlines() if "new, though alike" in line]
    assert "1 (33.3%): other title" in row
    [numbers], [html] = tmp_path.glob("*.json"), tmp_path.glob("*Z.html")
    assert json.loads(numbers.read_text())["objections"] == {"other_title": 1}
    assert "another title" in html.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("evidence", SETTINGS)
def test_a_crawl_with_a_ledger_judges_as_one_that_met_all_pages_itself(
    tmp_path: Path, evidence: bool
):
    """The evidence of stored pages is in the ledger."""
    site = {**EDITED, "/long": page(f"{article(1)} {article(1, 70)}", title="The ferry")}
    settings = {"DEDUP_EVIDENCE": evidence, "DEDUP_MAX_DISTANCE": 15}
    with served(site) as url:
        at_once, dropped, _ = crawled(site, url, **settings)
        settings["DEDUP_INDEX"] = str(tmp_path / "pages.sqlite")
        first, *_ = crawled({"/one": ""}, url, **settings)
        again, _, result = crawled(site, url, **settings)
    assert first == ["/one"]
    assert sorted(first + again) == sorted(at_once)
    assert len(dropped) == (1 if evidence else 3)
    assert result.stats["dedup/unchanged"] == 1


def test_a_page_that_is_stored_is_unchanged_unless_its_evidence_says_otherwise(tmp_path: Path):
    """An archive gets a post: all that is extracted of it is as it was."""
    site = {"/": archive(1)}
    settings = {"DEDUP_INDEX": str(tmp_path / "pages.sqlite"), "DEDUP_EXTRACTOR": EXTRACT}
    kinds = []
    with served(site) as url:
        for number in (1, 1, 2, 2):
            site["/"] = archive(number)
            *_, result = crawled(site, url, **settings)
            kinds.append(
                [k for k in ("new", "unchanged", "changed") if f"dedup/{k}" in result.stats]
            )
    assert kinds == [["new"], ["unchanged"], ["changed"], ["unchanged"]]


EXTRACT = f"{__name__}.extract_cloud"


def test_a_crawl_of_several_pages_at_a_time_names_the_page_whatever_becomes_of_it():
    """All claims are open while the others are judged, and every second item fails."""

    class Failing:
        def process_item(self, item: Any) -> Any:
            if int(item["url"].rpartition("/")[2]) % 2:
                raise ValueError("cannot be stored")
            return item

    site = {f"/{number}": archive(number) for number in range(12)}
    with served(site) as url:
        stored, dropped, result = crawled(
            site, url, DEDUP_EXTRACTOR=extract_cloud, CONCURRENT_REQUESTS=8,
            CONCURRENT_REQUESTS_PER_DOMAIN=8, ITEM_PIPELINES={Failing: 900},
        )  # fmt: skip
    assert sorted(stored) == sorted(f"/{number}" for number in range(0, 12, 2))
    assert dropped == []
    assert "dedup/errors" not in result.stats
    assert objections(result)["weak_evidence"] >= 10
