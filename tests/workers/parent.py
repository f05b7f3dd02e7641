"""A crawl in small: ``python parent.py EXTRACTOR PAGE_TIMEOUT PAGE``, for tests to kill.

Prints the id of its worker process while this reads the page, then the text of the page.
"""

import os
import signal
import sys
import time

import bad_extractors
from processes import ids_of_workers

from dedup.methods import SimHash
from dedup.page import PageReader
from dedup.workers import WorkerPool


def main(extractor, page_timeout, page):
    signal.signal(signal.SIGINT, lambda *_: os.write(1, b"interrupted\n"))
    reader = PageReader(getattr(bad_extractors, extractor), SimHash())
    pool = WorkerPool(reader, page_timeout=float(page_timeout))
    pool.start()
    pool.submit(PageReader.read_html, "a page that makes sure the worker runs").result(30)
    future = pool.submit(PageReader.read_html, page)
    time.sleep(0.2)  # until the worker is in the middle of it
    print(ids_of_workers(pool)[0], flush=True)
    print(future.result(30).text, flush=True)
    sys.stdin.read()  # until the test closes it
    pool.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
