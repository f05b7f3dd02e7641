"""Reports of crawls that never were."""

from contextlib import closing

from texts import article

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.page import Page, PageReader
from dedup.report import Report, Summary
from dedup.report.counts import Counters
from dedup.rule import Kind, Verdict
from dedup.url_advice import Contents

SETTINGS = {"DEDUP_METHOD": "simhash", "DEDUP_MAX_DISTANCE": 3, "DEDUP_SCOPE": "crawl"}
_READER = PageReader(lambda html: html, SimHash())


def page(text, title=None, language=None):
    """The page of a main text."""
    read = _READER.read_html(text)
    return Page(read.record, text, title, language)


def summary_of(pages):
    """The summary of a crawl over (url, page) in their order, and the detector that judged them."""
    summary = Summary(Counters(), SETTINGS, contents=Contents())
    detector = Detector(SimHash())
    for url, read in pages:
        verdict = detector.judge(read.record.under(url))
        summary.record(verdict, url, len(read.text or ""), read)
    summary.record_time("extraction", 0.01)
    return summary, detector


def no_text(url):
    """What has kept the text of no page."""


def far_copy(number):
    """A copy of article(number) that is just no near-duplicate."""
    words = enumerate(article(number).split())
    return " ".join("other" if place % 25 == 0 else word for place, word in words)


def report_of(pages):
    """The report of such a crawl."""
    summary, detector = summary_of(pages)
    with closing(summary.events):
        return summary.finish(detector.follower.view, detector.store, spider="test")


def changed(report, **values):
    """The same report with other *values*."""
    return Report.of({**report, **values})


def names(count, *rows):
    """What a report says of *count* hosts or patterns; *rows*: name, pages, duplicates."""
    keys = ("name", "pages", "duplicates")
    return {"names": count, "largest": [dict(zip(keys, row, strict=True)) for row in rows]}


def nearest(sample, pages, distances):
    return {"sample": sample, "pages": pages, "within": 16, "distances": distances}


def lossy(url, original, lost, sequences):
    return {"url": url, "original": original, "lost": lost, "sequences": sequences}


def dropped_text(pages, earlier, sequences, share, error, is_stored, *lossiest):
    return {
        "pages": pages,
        "pages_of_earlier_crawls": earlier,
        "sequences": sequences,
        "share": share,
        "error": error,
        "is_stored": is_stored,
        "lossiest": list(lossiest),
    }


def miss(url, other, distance, objection=None):
    return Report(url=url, other=other, distance=distance, objection=objection)


def new():
    return Verdict(Kind.NEW, "simhash")


def exact(original):
    return Verdict(Kind.EXACT, "simhash", original, 0)


def near(original, distance):
    return Verdict(Kind.NEAR, "simhash", original, distance)


def judged(summary, detector, *texts, scope=""):
    """Judge and record pages of *texts*."""
    for number, text in enumerate(texts):
        read = page(text)
        record = read.record.under(f"http://a/{number}", scope)
        summary.record(detector.judge(record), record.key, len(text), read, record)
