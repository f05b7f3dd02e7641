"""The worker process: ``python -m dedup.workers.worker``, started by `WorkerPool` only."""

import contextlib
import gc
import logging
import os
import pickle
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO

from dedup.workers.pool import READY, Failure, Reader, Work

# The pool kills a worker that exceeds the limit; the alarm does so if the pool has died.
_ORPHAN_SECONDS = 5
_MEMORY_LIMIT = 4 << 30
# A worker that has grown to this size ends after its task, and a new one replaces it.
_LARGEST = 1 << 30
_LONGEST_MESSAGE = 500


def main() -> None:
    """Run tasks until the pool closes the pipe.

    The messages are pickles, which delimit themselves: first the reader and the seconds for each
    page, whose answer is a list of warnings; then tasks.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings = _Warnings(logging.WARNING)
    logging.getLogger("dedup").addHandler(warnings)
    _limit_memory()
    requests, answers = _take_over_pipes()
    answers.write(READY)
    try:
        setup: tuple[Reader, float] = pickle.load(requests)
        reader, seconds_per_page = setup
    except EOFError:
        return
    except Exception:
        pickle.dump(Failure(traceback.format_exc()), answers)
        answers.flush()
        return
    _set_alarm(seconds_per_page + _ORPHAN_SECONDS)
    with contextlib.suppress(Exception):  # the first task fails again, and reports it
        reader.warm_up()
    gc.freeze()  # what was imported stays, and is not to be looked at again and again
    _set_alarm(0)
    logging.disable()
    pickle.dump(warnings.messages, answers)
    answers.flush()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while _resident_bytes() < _LARGEST:
            task: Work = pickle.load(requests)
            read, content = task
            _set_alarm(seconds_per_page + _ORPHAN_SECONDS)
            answer: Any
            try:
                answer = read(reader, content)
            except Exception as error:
                answer = Failure(f"{type(error).__name__}: {error}"[:_LONGEST_MESSAGE])
            _set_alarm(0)
            pickle.dump(answer, answers)
            answers.flush()


class _Warnings(logging.Handler):
    """Keeps what is logged at the start, for the log of the pool."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def _take_over_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pool's pipes; redirect the standard ones, so that a stray print is harmless."""
    while (nowhere := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # fills the gap of a crawler without standard error, before dup() does
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    return requests, answers


def _limit_memory() -> None:
    """Make a page that needs too much memory fail here instead of in the crawler."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > _MEMORY_LIMIT:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_LIMIT, hard))
    with contextlib.suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text("1000")


def _resident_bytes() -> int:
    with contextlib.suppress(OSError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource
    except ImportError:
        return 0
    # The peak, since there is nothing better. Not on Linux, where it starts at the crawler's size
    # when the worker was forked: in a large crawl, every worker would end after its first page.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _set_alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main()
