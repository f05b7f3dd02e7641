"""Plant copies of real pages among those of their sites, and see which of them are found.

    python benchmarks/planted.py SITE... [--method simhash verified]
        [--pages N] [--copies N]

SITE is a folder with docs.jsonl and the pages, as for evidence.py. Of each, the first N pages by
URL are judged as a crawl judges them, then copies of some of them, which are long enough and whose
own texts no other page has:

* tracked: under a URL with tracking parameters, with other related pages, of which it shows titles
  and the beginnings;
* printed: a print view, without scripts, menus, headers, footers and asides, with a note of its own
  and "Print" in the title;
* mirrored: on another host, with a notice and its name in the title.

A copy is found if it is dropped for its page, or for a page with an equal text or that is labelled
a copy of it, or grey; else the drop is wrong.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from drops import kind_of, read_documents, read_labels
from lxml import html as lxml_html
from w3lib.encoding import html_to_unicode

from dedup.detector import Detector
from dedup.extraction import EXTRACTORS
from dedup.methods import METHODS
from dedup.page import PageReader
from dedup.text import without_surrogates

HOST = "http://site.example"
WORDS = 60
CHROME = "nav|header|footer|aside|script|style|noscript|form|select|button"
Document = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sites", type=Path, nargs="+")
    parser.add_argument("--method", nargs="+", default=["simhash", "verified"])
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--copies", type=int, default=30)
    arguments = parser.parse_args()
    total: dict[str, Counter[str]] = {name: Counter() for name in arguments.method}
    extract = cache(EXTRACTORS["trafilatura"])
    for folder in arguments.sites:
        for name in arguments.method:
            counts = judge(folder, name, extract, arguments)
            total[name] += counts
            print(f"{name:10} {folder.name:14} {line(counts)}", flush=True)
        extract.cache_clear()
    for name, counts in total.items():
        print(f"{name:10} {'all':14} {line(counts)}")
    return int(any(counts["wrong"] for counts in total.values()))


def line(counts: Counter[str]) -> str:
    kinds = (f"{kind} {counts[kind]} of {counts[f'all {kind}']}" for kind in PLANTED)
    return ", ".join((*kinds, f"wrong {counts['wrong']}"))


def judge(
    folder: Path, name: str, extract: Callable[[str], Any], arguments: argparse.Namespace
) -> Counter[str]:
    method = METHODS[name]()
    reader, detector = PageReader(extract, method), Detector(method)
    documents = sorted(read_documents(folder), key=lambda one: one["url"])[: arguments.pages]
    labels = read_labels(folder) if (folder / "pairs.tsv").exists() else {}
    by_url = {HOST + one["url"]: one for one in documents}
    html = {url: html_of(folder / one["html"]) for url, one in by_url.items()}
    for url, source in html.items():
        detector.judge(reader.read_html(source).under(url))
    counts: Counter[str] = Counter()
    for kind, plant in PLANTED.items():
        for page, others in sources(documents, arguments.copies):
            url, copy = plant(page, html[HOST + page["url"]], others)
            verdict = detector.judge(reader.read_html(copy).under(url))
            counts[f"all {kind}"] += 1
            if not verdict.is_duplicate:
                continue
            original = by_url.get(verdict.original or "", page)
            label = labels.get(frozenset((page["id"], original["id"])), "none")
            if kind_of(page, original, label) == "wrong":
                counts["wrong"] += 1
                print(f"  wrong: {kind} {page['url']} <- {verdict.original}")
            else:
                counts[kind] += 1
    return counts


def html_of(path: Path) -> str:
    return without_surrogates(html_to_unicode(None, path.read_bytes())[1])


def sources(
    documents: Sequence[Document], copies: int
) -> Iterator[tuple[Document, Sequence[Document]]]:
    """Yield pages to copy, and five others of their sites."""
    chooser = random.Random(0)
    texts = Counter(one["text"] for one in documents)
    fit = [
        one
        for one in documents
        if one["kind"] == "page" and one["ntok"] >= WORDS and texts[one["text"]] == 1
    ]
    for page in chooser.sample(fit, min(copies, len(fit))):
        yield page, chooser.sample(documents, 5)


def tracked(page: Document, html: str, others: Sequence[Document]) -> tuple[str, str]:
    box = "".join(
        f'<li><a href="{one["url"]}?ref=related">{one.get("title", "")}</a>'
        f"<p>{one['text'][:100]}</p></li>"
        for one in others
    )
    tree = lxml_html.document_fromstring(html)
    paragraphs = [one for one in tree.iter("p", "table", "pre") if one.getparent() is not None]
    last = max(paragraphs, key=lambda one: len(one.text_content()), default=body_of(tree))
    related = lxml_html.fragment_fromstring(f'<div class="related"><ul>{box}</ul></div>')
    parent = last.getparent()
    parent.append(related)
    return f"{HOST}{page['url']}?utm_source=letter", lxml_html.tostring(tree, encoding="unicode")


def printed(page: Document, html: str, others: Sequence[Document]) -> tuple[str, str]:
    tree = lxml_html.document_fromstring(html)
    for element in list(tree.iter(*CHROME.split("|"))):
        element.drop_tree()
    note = f"Printed from {HOST}{page['url']} on 3 May 2024"
    body_of(tree).append(lxml_html.fragment_fromstring(f"<p>{note}</p>"))
    for title in tree.iter("title"):
        title.text = f"{title.text} - Print"
    return f"{HOST}/print{page['url']}", lxml_html.tostring(tree, encoding="unicode")


def mirrored(page: Document, html: str, others: Sequence[Document]) -> tuple[str, str]:
    tree = lxml_html.document_fromstring(html)
    notice = "<div><p>This is a mirror, brought to you by the computing centre.</p></div>"
    body_of(tree).insert(0, lxml_html.fragment_fromstring(notice))
    for title in tree.iter("title"):
        title.text = f"{title.text} | Mirror of the computing centre"
    return f"http://mirror.example{page['url']}", lxml_html.tostring(tree, encoding="unicode")


def body_of(tree: lxml_html.HtmlElement) -> lxml_html.HtmlElement:
    """Return what stands for the body: the last element of a page may be a comment."""
    return next(tree.iter("body"), tree)


PLANTED = {"tracked": tracked, "printed": printed, "mirrored": mirrored}


if __name__ == "__main__":
    sys.exit(main())
