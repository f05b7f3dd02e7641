"""The layer works on every reactor, and without one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from texts import article, edited, page
from web import served

SCRIPT = Path(__file__).with_name("reactor_crawl.py")


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize("reactor", ["asyncio", "select", "none"])
def test_a_crawl_judges_every_page_on_every_reactor(reactor: str, workers: str):
    site = {"/a": page(article(1)), "/b": page(edited(article(1))), "/c": page(article(2))}
    with served(site) as url:
        command = [sys.executable, str(SCRIPT), reactor, workers, *(url + path for path in site)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    stats = json.loads(done.stdout)
    assert done.stderr == ""
    assert stats["dedup/pages"] == 3
    assert stats["dedup/new"] == stats["item_scraped_count"] == 2
    assert stats["item_dropped_reasons_count/NearDuplicate"] == 1
