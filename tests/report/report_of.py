"""Reports of crawls that never were."""

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.page import Page, PageReader
from dedup.report import Details, Summary
from dedup.report.replay import Counters
from dedup.rule import Kind, Verdict
from dedup.url_advice import Contents

SETTINGS = {"DEDUP_METHOD": "simhash", "DEDUP_MAX_DISTANCE": 3, "DEDUP_SCOPE": "crawl"}
_READER = PageReader(lambda html: html, SimHash())


def page(text, title=None, language=None):
    """The page of a main text."""
    read = _READER.read_html(text)
    return Page(read.record, text, title, language)


def report_of(pages, texts=None):
    """The report of a crawl over (url, page) in their order, whose texts go to *texts*."""
    details = Details(texts=texts, contents=Contents())
    summary, detector = Summary(Counters(), SETTINGS, details=details), Detector(SimHash())
    for url, read in pages:
        verdict = detector.judge(read.record.under(url))
        summary.record(verdict, url, len(read.text or ""), read)
    summary.record_time("extraction", 0.01)
    return summary.finish(detector, spider="test")


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
        verdict = detector.judge(read.record.under(f"http://a/{number}", scope))
        summary.record(verdict, f"http://a/{number}", len(text), read, scope)
