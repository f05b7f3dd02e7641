"""Makes the modules that tests share importable by their names."""

import sys
from pathlib import Path

for folder in ("", "report", "scrapy_plugin", "workers"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

collect_ignore = ["scrapy_plugin/reactor_crawl.py"]  # a script that tests run
