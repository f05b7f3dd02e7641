from contextlib import ExitStack, closing

import pytest
from report_of import SETTINGS

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.report import Summary, TextStore
from dedup.report.counts import Counters
from dedup.url_advice import Contents


@pytest.fixture
def open_store():
    """Opens a TextStore for so many pages, and closes it at the end of the test."""
    with ExitStack() as stores:
        yield lambda limit: stores.enter_context(closing(TextStore(limit)))


@pytest.fixture
def stats():
    return Counters()


@pytest.fixture
def summary(stats):
    """A summary of a crawl whose report somebody will see."""
    with closing(Summary(stats, SETTINGS, contents=Contents())) as opened:
        yield opened


@pytest.fixture
def detector():
    return Detector(SimHash())
