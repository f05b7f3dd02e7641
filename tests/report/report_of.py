"""Reports of crawls that never were."""

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.page import Page, PageReader
from dedup.report import Summary, TextStore
from dedup.report.recorded import Counters
from dedup.rule import Kind, Verdict

SETTINGS = {"DEDUP_METHOD": "simhash", "DEDUP_MAX_DISTANCE": 3, "DEDUP_SCOPE": "crawl"}
_READER = PageReader(lambda html: html, SimHash())


def page(text, title=None, language=None):
    """The page of a main text."""
    read = _READER.read_html(text)
    return Page(text, title, language, read.tokens, read.digest, read.sketch)


def report_of(pages, *, texts=2000):
    """The numbers and the texts of a crawl over (url, page) in their order."""
    store = TextStore(texts)
    summary, detector = Summary(Counters(), SETTINGS, texts=store), Detector(SimHash())
    for url, read in pages:
        verdict = detector.judge(url, read)
        summary.record(verdict, url, len(read.text or ""), read)
    summary.record_time("extraction", 0.01)
    return {"spider": "test", **summary.finish(detector)}, store


def new():
    return Verdict(Kind.NEW, "simhash")


def exact(original):
    return Verdict(Kind.EXACT, "simhash", original, 0)


def near(original, distance):
    return Verdict(Kind.NEAR, "simhash", original, distance)
