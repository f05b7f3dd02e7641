"""Makes the modules that tests share importable by their names, and Ctrl-C work in all of them."""

import signal
import sys
from pathlib import Path

for folder in ("", "report", "scrapy_plugin", "workers"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

collect_ignore = ["scrapy_plugin/reactor_crawl.py"]  # a script that tests run

# A shell starts what runs in its background deaf to Ctrl-C, and so would be what tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
