import json
from datetime import UTC, datetime

from report_of import SETTINGS, page, report_of
from texts import article, edited

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.report import Recorded, TextStore, as_text, numbers_of, write_html, write_json

PAGES = [
    (f"http://a.example/{n}{query}", page(text))
    for n in range(8)
    for query, text in (("", article(n)), ("?print=1", article(n)), ("?old", edited(article(n))))
]
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def recorded():
    detector = Detector(SimHash())
    for url, read in PAGES:
        verdict = detector.judge(url, read)
        size = len(read.text)
        yield Recorded(
            url, verdict.kind, verdict.original, verdict.distance, read.tokens, size, verdict.reason
        )


def test_a_record_has_the_numbers_of_its_crawl():
    numbers, _ = report_of(PAGES)
    again = numbers_of(recorded(), SETTINGS, spider="test", started=START, seconds=10)
    of_the_crawl = {
        "started",
        "seconds",
        "seconds_per_page",
        "near_misses",
        "nearest_kept",
        "index",
        "pages",
    }
    for name in set(numbers) - of_the_crawl:
        assert again[name] == numbers[name], name
    assert again.keys() == numbers.keys()
    assert again["pages"] == {**numbers["pages"], "per_second": 2.4}
    assert (again["started"], again["seconds"]) == ("2026-01-02T03:04:05+00:00", 10)


def test_its_reports_can_be_written(tmp_path):
    numbers = numbers_of(recorded(), SETTINGS, spider="test", started=START, seconds=0)
    assert numbers["pages"]["per_second"] is None
    path = write_json(numbers, tmp_path)
    write_html(json.loads(path.read_text("utf-8")), TextStore(0), path.with_suffix(".html"))
    assert "http://a.example/1" in path.with_suffix(".html").read_text("utf-8")
    assert "near-duplicates" in as_text(numbers)
