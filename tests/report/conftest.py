from contextlib import closing

import pytest
from report_of import SETTINGS

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.report import Summary
from dedup.report.counts import Counters
from dedup.url_advice import Contents


@pytest.fixture
def stats():
    return Counters()


@pytest.fixture
def summary(stats):
    """A summary of a crawl whose report somebody will see."""
    opened = Summary(stats, SETTINGS, contents=Contents())
    with closing(opened.events):
        yield opened


@pytest.fixture
def detector():
    return Detector(SimHash())
