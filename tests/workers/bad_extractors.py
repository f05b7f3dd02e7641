"""Extractors that do to their process what pages and libraries do to it at their worst.

Each looks at the page for its own name, so that the next page is read normally.
"""

import logging
import os
import signal
import sys
import time

from dedup.extraction import trafilatura


def well(html):
    return html.removeprefix("well ")


def misbehaving(html, otherwise=str):
    """Do what the first word of the page says, by one of the functions below; else return it."""
    action = globals().get(f"_{html.partition(' ')[0].replace('-', '_')}", lambda: otherwise(html))
    return action()


def extracting_unless_told(html):
    """Extract as trafilatura does, but of a page whose first word says so, do that."""
    return misbehaving(html, trafilatura)


def with_process_id(html):
    return str(os.getpid())


def slowly(html):
    time.sleep(0.5)
    return html


def with_a_warning(html):
    logging.getLogger("dedup.extraction").warning("%s and 100 %%", html)
    return html


def slow_from_the_start(html):
    time.sleep(4)
    return html


def _raise():
    raise KeyError("of the extractor")


def _recurse():
    return _recurse()


def _exit():
    os._exit(3)


def _leave():
    sys.exit("extractor leaves")


def _interrupt():
    raise KeyboardInterrupt


def _fork_and_hang():
    if os.fork() == 0:
        time.sleep(60)
    time.sleep(60)


def _fork_and_crash():
    if os.fork() == 0:
        time.sleep(60)
    os._exit(1)


def _crash():
    signal.raise_signal(signal.SIGSEGV)


def _be_killed():
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def _hang():
    time.sleep(60)


def _hang_deaf():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass


def _print():
    print("text on stdout")
    print("text on stderr", file=sys.stderr)
    sys.stdout.flush()
    os.write(1, b"bytes on descriptor 1")
    return "printed"


def _read_stdin():
    return f"stdin: {sys.stdin.read()!r} {os.read(0, 10)!r}"


def _return_number():
    return 5


class _Unpicklable(str):
    def __reduce__(self):
        raise TypeError("cannot be pickled")


class _UnpickledWithError(str):
    def __reduce__(self):
        return _raise, ()


def _return_unpicklable():
    return _Unpicklable("text")


def _return_unpickled_with_error():
    return _UnpickledWithError("text")
