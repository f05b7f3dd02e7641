"""The limits of a crawl that nobody needs to set."""

PAGE_TIMEOUT = 30.0
"""Seconds that a worker may take for a page. It is killed then, and the page stored."""
WAIT_TIMEOUT = 60.0
"""Seconds that a copy waits for the page that it repeats to be stored, and for a canonical one."""
MAX_PAGE_BYTES = 10_000_000
"""A page with more bytes is not read. DOWNLOAD_MAXSIZE, of Scrapy, is there for fewer."""
CHECKPOINT_INTERVAL = 1.0
"""Seconds between two checkpoints. A crawl that is killed stores again what came since the last."""
OUTAGE_TIMEOUT = 10.0
"""Seconds that the end of a crawl waits for a store that is down, and for it to take the report."""
