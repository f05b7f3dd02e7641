"""Would following the report's URL advice have lost a page? Two labelled sites, crawled twice.

    python benchmarks/advice.py FOLDER [--json FILE]

FOLDER is that of sites.py. Each site is crawled with the shipped settings; then once more, with the
regular expressions that its report gives for a link extractor's deny. A page is lost if it was
fetched the first time, not the second time, and no page of the second time shares its content: is
labelled dup, grey or part with it, or is the same document.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sites import SITES, is_labelled, path_of, read_documents, read_labels, serve

_SHARED = ("dup", "grey", "part")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--crawl", nargs=3, metavar=("URLS", "OUT", "DENY"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.crawl:
        crawl(*arguments.crawl)
        return 0
    figures = {name: follow(arguments.folder / "sites" / name) for name in SITES}
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False))
    return 0


def crawl(urls: str, out: str, deny: str) -> None:
    """Crawl *urls* but what *deny* (JSON) matches, and write the URLs that were fetched to *out*.

    The report goes into the same folder.
    """
    from scrapy import signals
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.linkextractors import LinkExtractor
    from scrapy.utils.project import get_project_settings

    from crawler.spiders.site import SiteSpider

    class DenyingSpider(SiteSpider):
        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            self._links = LinkExtractor(deny=json.loads(deny))

    fetched: list[str] = []

    def received(response: Any, request: Any) -> None:
        if response.status == 200 and "html" in response.headers.get("Content-Type", b"").decode():
            fetched.append(response.url)

    settings = get_project_settings()
    settings.setdict(
        {
            "DEDUP_REPORT": str(Path(out).parent),
            "LOG_LEVEL": "WARNING",
            "AUTOTHROTTLE_ENABLED": False,
        }
    )
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(DenyingSpider)
    crawler.signals.connect(received, signals.response_received)
    process.crawl(crawler, url=urls)
    process.start()
    Path(out).write_text(json.dumps(fetched))


def follow(site: Path) -> dict[str, Any]:
    """Crawl *site* twice, print what its advice saved and lost, and return the figures."""
    with serve(site / "www") as root:
        urls = ",".join(root + seed for seed in (site / "seeds.txt").read_text().split())
        fetched, report = run(site, urls, [])
        advice = report["url_advice"]
        deny = [item["deny"] for item in advice["advice"] if item["deny"]]
        left, again = run(site, urls, deny)
    pages = {page["url"]: page for page in read_documents(site) if is_labelled(page)}
    labels = read_labels(site)
    there = {pages[path]["id"] for path in map(path_of, left) if path in pages}
    missing = {path_of(url) for url in fetched} - {path_of(url) for url in left}
    lost = [path for path in missing if path in pages and not shared(pages[path], there, labels)]
    figures = {
        "pages": len(fetched),
        "deny": deny,
        "fetched_again": len(left),
        "promised": advice["with_deny"],
        "not_fetched_again": len(missing),
        "of_these_labelled": sum(path in pages for path in missing),
        "lost": sorted(lost),
        "stored": report["pages"]["new"],
        "stored_again": again["pages"]["new"],
    }
    print(f"== {site.name}")
    for name, value in figures.items():
        print(f"{name:20} {value}")
    for item in advice["advice"]:
        what = f"{item['kind']} {item['name']}" + (f" = {item['other']}" if item["other"] else "")
        advised = "advised" if item["is_advised"] else "not advised"
        print(f"{advised:12} {item['agreed']:5} of {item['compared']:5}  {what}")
    return figures


def run(site: Path, urls: str, deny: list[str]) -> tuple[list[str], dict[str, Any]]:
    with TemporaryDirectory() as folder:
        out = Path(folder) / "fetched"
        command = [sys.executable, __file__, str(site), "--crawl", urls, str(out), json.dumps(deny)]
        subprocess.run(command, check=True, cwd=Path(__file__).parents[1])
        (report,) = Path(folder).glob("*.json")
        return json.loads(out.read_text()), json.loads(report.read_text("utf-8"))


def shared(page: dict[str, Any], there: set[str], labels: dict[frozenset[str], str]) -> bool:
    """Return whether one of the pages that are *there* has the content of *page*."""
    others = (other for other in there if labels.get(frozenset((page["id"], other))) in _SHARED)
    return page["id"] in there or any(others)


if __name__ == "__main__":
    sys.exit(main())
