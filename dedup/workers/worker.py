"""The worker process: ``python -m dedup.workers.worker``, started by `WorkerPool` only."""

import contextlib
import logging
import os
import pickle
import signal
import sys
import traceback
from typing import BinaryIO

from dedup.page import Page
from dedup.workers.protocol import Failure, Setup, Task

# The pool kills a worker that exceeds the limit; this is for the worker whose pool has died.
_ORPHAN_SECONDS = 5


def main() -> None:
    """Read pages until the pool closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable()
    requests, answers = _take_over_pipes()
    try:
        setup: Setup = pickle.load(requests)
    except EOFError:
        return
    except Exception:
        pickle.dump(Failure(traceback.format_exc()), answers)
        answers.flush()
        return
    _set_alarm(setup.seconds_per_page + _ORPHAN_SECONDS)
    with contextlib.suppress(Exception):  # a page of no account
        setup.reader.read_html("<html><body><p>Load what extraction and methods import.</p>")
    _set_alarm(0)
    pickle.dump(None, answers)
    answers.flush()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            task: Task = pickle.load(requests)
            _set_alarm(setup.seconds_per_page + _ORPHAN_SECONDS)
            answer: Page | Failure
            try:
                answer = task.run(setup.reader)
            except Exception as error:
                answer = Failure(f"{type(error).__name__}: {error}")
            _set_alarm(0)
            pickle.dump(answer, answers)
            answers.flush()


def _take_over_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pool's pipes, and leave the standard ones where a stray print does no harm."""
    requests = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (sys.stdin, sys.stdout, sys.stderr):
        os.dup2(nowhere, standard.fileno())
    return requests, answers


def _set_alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main()
