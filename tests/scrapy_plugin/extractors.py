"""Extractors that go wrong on pages that contain certain words, as worker processes load them."""

import os
import signal
import sys
import time

from dedup.extraction import trafilatura


def fragile(html: str):
    if "CRASH" in html:
        signal.raise_signal(signal.SIGSEGV)
    if "EXIT" in html:
        os._exit(3)
    if "HANG" in html:
        time.sleep(60)
    if "RAISE" in html:
        raise LookupError("no such thing")
    if "PRINT" in html:
        print("stray output" * 1000)
        os.write(1, b"more of it" * 1000)
        sys.stderr.write("and here")
    return trafilatura(html)
