"""Crawl two real, labelled sites with the shipped settings, and compare what was dropped.

    python benchmarks/sites.py FOLDER [--json FILE]

FOLDER holds sites/<name>/ with www/ (the site), seeds.txt, docs.jsonl and pairs.tsv, the labels:
dup, grey and part are pairs that share their content, every unlisted pair does not. Only pages of
kind "page" with at least 30 reference tokens are labelled.
"""

import argparse
import csv
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

SITES = ("eventmesh", "pooch")
MIN_REFERENCE_TOKENS = 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument(
        "--crawl", nargs=3, metavar=("URLS", "SETTINGS", "OUT"), help=argparse.SUPPRESS
    )
    arguments = parser.parse_args()
    if arguments.crawl:
        crawl(*arguments.crawl)
        return 0
    figures = {name: compare(arguments.folder / "sites" / name) for name in SITES}
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False))
    return 0


def crawl(urls: str, others: str, out: str) -> None:
    """Run ``scrapy crawl site -a url=URLS`` and write what became of every page.

    *others*: settings that differ from those of the project, as an object of JSON.
    """
    from scrapy import signals
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.utils.project import get_project_settings

    outcome: dict[str, Any] = {"stored": [], "dropped": [], "pages": []}

    def scraped(item: Any) -> None:
        outcome["stored"].append([item["url"], item["text"]])

    def dropped(item: Any, exception: Any) -> None:
        verdict = exception.verdict
        outcome["dropped"].append([item["url"], verdict.original, verdict.distance])

    def received(response: Any, request: Any) -> None:
        if response.status == 200 and "html" in response.headers.get("Content-Type", b"").decode():
            outcome["pages"].append(response.url)

    settings = get_project_settings()
    settings.setdict({"DEDUP_REPORT": "", "LOG_LEVEL": "WARNING", **json.loads(others)})
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler("site")
    crawler.signals.connect(scraped, signals.item_scraped)
    crawler.signals.connect(dropped, signals.item_dropped)
    crawler.signals.connect(received, signals.response_received)
    process.crawl(crawler, url=urls)
    process.start()
    stats = crawler.stats.get_stats()
    outcome["stats"] = {k: v for k, v in stats.items() if isinstance(v, int | float | str)}
    Path(out).write_text(json.dumps(outcome))


def compare(site: Path) -> dict[str, Any]:
    """Crawl *site*, print how the drops agree with its labels, and return the figures."""
    outcome = run(site)
    pages = {document["url"]: document for document in read_documents(site)}
    labels = read_labels(site)
    verdicts: Counter[str] = Counter()
    wrong = []
    for url, original, distance in outcome["dropped"]:
        copy, kept = (pages.get(path_of(u)) for u in (url, original))
        if not (is_labelled(copy) and is_labelled(kept)):
            verdicts["not labelled"] += 1
            continue
        same = copy["id"] == kept["id"]
        label = "dup" if same else labels.get(frozenset((copy["id"], kept["id"])), "wrong")
        verdicts[label] += 1
        if label in ("wrong", "tmpl"):
            wrong.append((url, original, distance))
    judged = sum(verdicts.values()) - verdicts["not labelled"]
    right = judged - len(wrong)
    stats = outcome["stats"]
    seen = [url for url, _ in outcome["stored"]] + [url for url, *_ in outcome["dropped"]]
    figures = {
        "pages": stats["dedup/pages"],
        "stored": len(outcome["stored"]),
        "dropped": len(outcome["dropped"]),
        "skipped": skipped(stats),
        "responses_200": stats["downloader/response_status_count/200"],
        "neither_stored_nor_dropped": len(set(outcome["pages"]) - set(seen)),
        "stored_is_new_and_skipped": len(outcome["stored"]) == stats["dedup/new"] + skipped(stats),
        "dropped_by_label": dict(verdicts),
        "precision": round(right / judged, 4) if judged else None,
        "equal_main_texts_stored_twice": repeats(text for _, text in outcome["stored"] if text),
        "equal_reference_texts_stored_twice": repeats(
            page["text"]
            for page in (pages.get(path_of(url)) for url, _ in outcome["stored"])
            if is_labelled(page) and page["text"].strip()
        ),
        "seconds": round(stats["elapsed_time_seconds"], 1),
        "errors": stats.get("log_count/ERROR", 0),
    }
    print(f"== {site.name}")
    for name, value in figures.items():
        print(f"{name:36} {value}")
    for url, original, distance in wrong:
        print(f"wrong drop: {url} for {original} (distance {distance})")
    return figures


def run(site: Path, **settings: Any) -> dict[str, Any]:
    with TemporaryDirectory() as folder, serve(site / "www") as root:
        out = Path(folder) / "outcome.json"
        seeds = (site / "seeds.txt").read_text().split()
        urls = ",".join(root + seed for seed in seeds)
        crawl = ["--crawl", urls, json.dumps(settings), str(out)]
        command = [sys.executable, __file__, str(site), *crawl]
        subprocess.run(command, check=True, cwd=Path(__file__).parents[1])
        return json.loads(out.read_text())


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serve(folder: Path, handler: type[SimpleHTTPRequestHandler] = Silent) -> Iterator[str]:
    """Serve *folder* on a loopback port and yield the URL, without the last slash."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def read_documents(site: Path) -> Iterator[dict[str, Any]]:
    with (site / "docs.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read_labels(site: Path) -> dict[frozenset[str], str]:
    with (site / "pairs.tsv").open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {frozenset((row["id1"], row["id2"])): row["label"] for row in rows}


def path_of(url: str) -> str:
    path = unquote(urlsplit(url).path)
    return path + "index.html" if path.endswith("/") else path


def is_labelled(page: dict[str, Any] | None) -> bool:
    return bool(page) and page["kind"] == "page" and page["ntok"] >= MIN_REFERENCE_TOKENS


def skipped(stats: dict[str, Any]) -> int:
    return sum(value for key, value in stats.items() if key.startswith("dedup/skipped/"))


def repeats(texts: Iterator[str]) -> int:
    seen: defaultdict[str, int] = defaultdict(int)
    for text in texts:
        seen[" ".join(text.lower().split())] += 1
    return sum(count - 1 for count in seen.values())


if __name__ == "__main__":
    sys.exit(main())
