"""Whole crawls of pages whose main texts match, though they are no copies.

And of pages of which too little is extracted: they are counted, and items say it.
"""

from pathlib import Path
from typing import Any

import commands
import pytest
from collections_on_disk import write_lines
from crawls import crawl_site, html_report_in, report_in
from texts import article, page, replaced

from dedup.extraction import EXTRACTORS

TAGS = "alder birch cedar elm fir hazel larch maple oak pine rowan willow".split()


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


def extraction(html: str, text: str) -> Any:
    """Return what an extractor does that takes *text* for the main text of a page."""
    from trafilatura import load_html

    from dedup.evidence import VisibleText
    from dedup.extraction import Extraction

    tree = load_html(html)
    title = tree.findtext(".//title")
    return Extraction(text, title, evidence=VisibleText(tree).evidence(text, title))


def extract_cloud(html: str) -> Any:
    """Read a page as trafilatura does that takes the tag cloud for its main text."""
    return extraction(html, " ".join(TAGS * 3))


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


def template(name: str, more: str = "") -> str:
    """A page of the classes of a library, which its URL names."""
    return titled("Members", "All members", f"Of {name}: {article(1, 300)}{more}")


def headed(name: str, text: str) -> str:
    """A page of which the headline is no part of what is extracted."""
    return (
        f"<html><head><title>{name}</title></head><body><header><b>x</b></header>"
        f"<h1>The {name}</h1><p>{text}</p></body></html>"
    )


def longer(text: str, times: float) -> str:
    words = text.split()
    return f"{text} {' '.join(words[: round(len(words) * (times - 1))])}"


def extract_in_part(html: str) -> Any:
    """Read archives by their clouds, and pages without an article by their first paragraphs."""
    if "/tag/" in html:
        return extract_cloud(html)
    if "<article>" in html:
        return EXTRACTORS["trafilatura"](html)
    return extraction(html, html.partition("<p>")[2].partition("</p>")[0])


LAMPS = {f"/api/{name}/members.html": template(name) for name in ("SmallLamp", "BigLamp", "Torch")}
LAMPS["/api/v2/Torch/members.html"] = template("Torch", " Since.")
ALIKE = [
    {**{f"/{n}": archive(n) for n in range(4)}, "/copy": archive(2, "Another footer")},
    LAMPS,
    {f"/times-{n}": page(longer(article(3, 400), n)) for n in (1, 1.15, 1.3)},
    {f"/shorter-{n}": page(longer(article(4, 400), n)) for n in (1.3, 1)},
    {f"/{name}": headed(name, article(5, 45)) for name in ("alder", "birch")},
    {f"/{name}": headed(name, article(6, 60)) for name in ("elm", "fir")},
]
"""Pages whose main texts match, by the reason why not all of them are copies."""
COPIES = {
    "/copy": "/2",  # equal but for its footer
    "/api/v2/Torch/members.html": "/api/Torch/members.html",  # another version
    "/times-1.15": "/times-1",  # not much longer
    "/fir": "/elm",  # under another title, and long enough
}


@pytest.mark.slow
@pytest.mark.parametrize("evidence", [True, False])
def test_pages_that_are_alike_and_no_copies_are_kept(evidence: bool, tmp_path: Path):
    site = {path: html for pages in ALIKE for path, html in pages.items()}
    options = {"DEDUP_EXTRACTOR": extract_in_part, "DEDUP_MAX_DISTANCE": 11}
    result = crawl_site(site, DEDUP_EVIDENCE=evidence, **options)
    assert scanned(LAMPS, result.url, tmp_path) == list(LAMPS)[:3]
    if evidence:
        assert result.originals == COPIES
    else:
        assert result.stored == [next(iter(pages)) for pages in ALIKE]
    assert result.counts("objections/") == (
        {
            "weak_evidence": 3,
            "other_address": 2,
            "longer_than_its_original": 1,
            "shorter_than_its_original": 1,
            "other_title": 1,
        }
        if evidence
        else {}
    )


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
    assert report_in(tmp_path)["objections"] == {"other_title": 1}
    assert "another title" in html_report_in(tmp_path)


FIELDS = {"text": "text", "coverage": "coverage"}
TEASER = "A box of recent posts, of some words that stand on each page of the site."


def extract_teaser(html: str) -> Any:
    """Read a page as trafilatura does that takes one of its boxes for the main text."""
    return extraction(html, TEASER)


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
