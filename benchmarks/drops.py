"""Crawl labelled sites with the shipped spider, and judge what was dropped.

    python benchmarks/drops.py SITE... [--method simhash verified] [--evidence on off] [--orders N]

SITE is a folder with www/ (the site), seeds.txt, docs.jsonl and pairs.tsv (the labels). A drop is
right if the own texts of both pages are equal or the pair is labelled dup; another record if
they are labelled so but have other titles of their own; grey if the label says so, else wrong. It
is lost if it is wrong and no stored page is dup, grey or part of it. Pages and listings are counted
together; redirects and empty pages are not.

With --orders, nothing is crawled: the detector of a crawl judges all pages of docs.jsonl, in the
order of their URLs and in N random ones.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from dedup.detector import Detector
from dedup.evidence import NORMAL
from dedup.extraction import EXTRACTORS
from dedup.methods import METHODS
from dedup.page import Page, PageReader
from dedup.records.base import decode_html
from dedup.rule import Rule

KINDS = ("right", "record", "grey", "wrong", "lost")
Outcome = tuple[list[str], list[tuple[str, str]]]
"""The URLs that were stored, and the dropped ones with those that they repeat."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sites", type=Path, nargs="+", metavar="SITE")
    parser.add_argument("--method", nargs="+", default=["simhash"])
    parser.add_argument("--evidence", nargs="+", default=["on"], choices=("on", "off"))
    parser.add_argument("--orders", type=int, help="judge without a crawl, in so many orders")
    arguments = parser.parse_args()
    runs = {"crawl": crawl}
    if arguments.orders is not None:
        orders = range(arguments.orders + 1)
        runs = {f"order {order}": partial(judge_in_order, order=order) for order in orders}
    for method, evidence, run in product(arguments.method, arguments.evidence, runs):
        total: Counter[str] = Counter()
        for site in arguments.sites:
            counts = judge(site, *runs[run](site, method, evidence))
            show(run, method, evidence, site.name, counts)
            total += counts
        show(run, method, evidence, "all", total)


def show(run: str, method: str, evidence: str, name: str, counts: Counter[str]) -> None:
    figures = "  ".join(f"{kind} {counts[kind]:,}" for kind in ("drops", *KINDS))
    print(f"{run:8} {method:10} {evidence:7} {name:12} {figures}", flush=True)


def crawl(site: Path, method: str, evidence: str) -> Outcome:
    with TemporaryDirectory() as name, serve(Silent, directory=site / "www") as root:
        stored, dropped = Path(name) / "stored.jsonl", Path(name) / "dropped.jsonl"
        seeds = ",".join(root + seed for seed in (site / "seeds.txt").read_text().split())
        settings = {
            "DEDUP_METHOD": method, "DEDUP_EVIDENCE": evidence == "on", "DEDUP_DUPLICATES": dropped,
            "DEDUP_REPORT": "", "LOG_LEVEL": "ERROR",
        }  # fmt: skip
        options = [part for pair in settings.items() for part in ("-s", "{}={}".format(*pair))]
        command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={seeds}"]
        root_folder = Path(__file__).parents[1]
        subprocess.run(
            [*command, *options, "-O", stored], check=True, cwd=root_folder,
            env={**os.environ, "PYTHONPATH": str(root_folder)},
        )  # fmt: skip
        kept = [item["url"] for item in read_lines(stored)]
        drops = read_lines(dropped) if dropped.exists() else []
        return kept, [(line["url"], line["original"]) for line in drops]


def judge_in_order(site: Path, method: str, evidence: str, order: int) -> Outcome:
    """Judge the pages in the order of their URLs, or in a random one."""
    pages = list(pages_of(site, method).items())
    if order:
        random.Random(order).shuffle(pages)
    detector = Detector(METHODS[method](), Rule(demands=NORMAL if evidence == "on" else None))
    stored, dropped = [], []
    for url, page in pages:
        verdict = detector.judge(page.under(url))
        if verdict.is_duplicate:
            dropped.append((url, str(verdict.original)))
        else:
            stored.append(url)
    return stored, dropped


@cache
def pages_of(site: Path, method: str) -> dict[str, Page]:
    """Return the pages of a site by URL, in the order of these."""
    reader = PageReader(extract, METHODS[method]())
    root = f"http://{site.name}.example/"
    return {
        urljoin(root, document["url"]): reader.read_html(
            decode_html((site / document["html"]).read_bytes())
        )
        for document in sorted(read_lines(site / "docs.jsonl"), key=lambda one: one["url"])
    }


extract = cache(EXTRACTORS["trafilatura"])


def read_lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return list(map(json.loads, lines))


def judge(site: Path, stored: list[str], drops: list[tuple[str, str]]) -> Counter[str]:
    """Return how many drops there are of each kind."""
    documents = {document["url"]: document for document in read_lines(site / "docs.jsonl")}
    labels = read_labels(site)
    near: defaultdict[str, set[str]] = defaultdict(set)
    for pair, label in labels.items():
        if label in ("dup", "grey", "part"):
            for one in pair:
                near[one] |= pair - {one}
    kept = {documents[path]["id"] for path in map(path_of, stored) if path in documents}
    counts: Counter[str] = Counter(drops=len(drops))
    for url, original in drops:
        page, other = (documents.get(path_of(name)) for name in (url, original))
        if not page or not other or page is other:
            continue
        if {page.get("kind"), other.get("kind")} & {"redirect", "empty"}:
            continue
        kind = kind_of(page, other, labels.get(frozenset((page["id"], other["id"])), "none"))
        counts[kind] += 1
        if kind == "wrong" and not near[page["id"]] & kept:
            counts["lost"] += 1
            print(f"  lost: {page['url']} <- {other['url']}")
    return counts


def kind_of(page: dict[str, Any], original: dict[str, Any], label: str) -> str:
    if page["text"] == original["text"]:
        return "right"
    if label == "dup":
        titles = {page.get("own_title"), original.get("own_title")}
        return "record" if len(titles) == 2 and all(titles) else "right"
    return "grey" if label in ("grey", "part") else "wrong"


class Silent(SimpleHTTPRequestHandler):
    def send(self, body: bytes) -> None:
        """Answer with a page of HTML."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serve(handler: type[SimpleHTTPRequestHandler], **options: Any) -> Iterator[str]:
    """Serve on a loopback port and yield the URL, without the last slash."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, **options))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def read_labels(site: Path) -> dict[frozenset[str], str]:
    with (site / "pairs.tsv").open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {frozenset((row["id1"], row["id2"])): row["label"] for row in rows}


def path_of(url: str) -> str:
    path = unquote(urlsplit(url).path)
    return path + "index.html" if path.endswith("/") else path


if __name__ == "__main__":
    main()
