"""Pools that read pages: of worker processes, which may crash or hang, and one without any."""

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from time import monotonic
from typing import IO, Any, Protocol, TypeVar

from dedup.logs import get_logger

logger = get_logger(__name__)

_START_SECONDS = 60.0
# After a failed start; until then, tasks fail for the same reason.
_SECONDS_BETWEEN_STARTS = 10.0
_WATCH_EVERY = 0.2


Answer = TypeVar("Answer")


class ReadError(Exception):
    """A task failed; usually, a page could not be read.

    *cause* is "error" (the extractor raised), "crash" (its process died), "timeout" (it was killed
    for exceeding the time limit), "start" (no worker process could be started) or "closed".
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class Reader(Protocol):
    """What a worker needs for all of its tasks; sent to it once."""

    def warm_up(self) -> None:
        """Load everything that tasks need, so that it does not count as time of a task."""


Work = tuple[Callable[[Any, Any], Any], Any]
"""A task for a worker: a function, and what it is called with, after the reader."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker's answer to a failed task."""

    message: str


READY = b"\0dedup worker is ready\n"
"""A worker writes this before its first answer."""


class InlinePool:
    """Runs every task when it is submitted, in the caller's own process and thread.

    There is no time limit, and a page that crashes the extractor ends the process.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def start(self) -> None:
        """Load what tasks need, so that none of them takes the longer for it."""
        with contextlib.suppress(Exception):  # the first task fails again, and reports it
            self._reader.warm_up()

    def submit(self, read: Callable[[Any, Any], Answer], content: Any) -> "Future[Answer]":
        """Return the future of what *read* returns for the reader and *content*.

        *read* is a function that can be imported, such as `PageReader.read_html`. The exception can
        only be a `ReadError`.
        """
        future: Future[Answer] = Future()
        try:
            future.set_result(read(self._reader, content))
        except Exception as error:
            future.set_exception(ReadError("error", f"{type(error).__name__}: {error}"))
        return future

    def close(self) -> None:
        """Do nothing: no task is left."""


class WorkerPool:
    """Processes that run tasks; each has a thread that talks to it through pipes.

    Not a ``ProcessPoolExecutor``, which runs an unguarded main script again in every child, does
    not limit the time of a task, and does not survive the death of a child.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        workers: int = 1,
        page_timeout: float = 30.0,
        recycle_after: int = 2000,
    ) -> None:
        """Prepare *workers* processes, each replaced after *recycle_after* pages.

        *page_timeout*: the seconds after which a task fails and its worker is killed.

        Raises ValueError if *reader* cannot be sent to another process.
        """
        try:
            setup = pickle.dumps((reader, page_timeout))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(f"cannot be sent to a worker process: {error}") from error
        self._tasks: queue.SimpleQueue[tuple[Work, Future[Any]] | None] = queue.SimpleQueue()
        self._is_closed = threading.Event()
        self._workers = [
            _Worker(self._tasks, self._is_closed, setup, page_timeout, recycle_after)
            for _ in range(workers)
        ]
        self._watchdog = threading.Thread(target=self._watch, name="dedup-watchdog", daemon=True)

    def start(self) -> None:
        """Start the processes; call this once, before `submit`."""
        for thread in (*self._workers, self._watchdog):
            thread.start()

    def submit(self, read: Callable[[Any, Any], Answer], content: Any) -> "Future[Answer]":
        """Return the future of what *read* returns for the reader and *content*.

        As of an `InlinePool`.
        """
        future: Future[Answer] = Future()
        if self._is_closed.is_set():
            future.set_exception(ReadError("closed", "the pool is closed"))
        elif not any(worker.is_alive() for worker in self._workers):
            future.set_exception(ReadError("start", "the pool is not started"))
        else:
            self._tasks.put(((read, content), future))
        return future

    def close(self) -> None:
        """Stop all work at once; unfinished tasks fail with cause "closed"."""
        self._is_closed.set()
        for worker in self._workers:
            self._tasks.put(None)
            worker.kill()
        for worker in self._workers:
            if worker.is_alive():
                worker.join(5)
        while True:
            try:
                entry = self._tasks.get_nowait()
            except queue.Empty:
                return
            if entry:
                entry[1].set_exception(ReadError("closed", "the pool was closed"))

    def _watch(self) -> None:
        last = monotonic()
        while not self._is_closed.wait(_WATCH_EVERY):
            now = monotonic()
            # If this process was suspended (Ctrl-Z), the tasks get that time back.
            pause = now - last - _WATCH_EVERY
            last = now
            for worker in self._workers:
                worker.kill_if_late(extra=pause if pause > 1 else 0)


class _Worker(threading.Thread):
    """One worker process at a time, and the thread that talks to it."""

    def __init__(
        self,
        tasks: "queue.SimpleQueue[tuple[Work, Future[Any]] | None]",
        is_closed: threading.Event,
        setup: bytes,
        page_timeout: float,
        recycle_after: int,
    ) -> None:
        super().__init__(name="dedup-worker", daemon=True)
        self.process: subprocess.Popen[bytes] | None = None
        self._tasks = tasks
        self._is_closed = is_closed
        self._setup = setup
        self._page_timeout = page_timeout
        self._recycle_after = recycle_after
        self._pages = 0
        # Why the last start failed, and when.
        self._failure: tuple[str, float] | None = None
        # Without the lock, the watchdog could kill the next task instead of one that ends in time.
        self._lock = threading.Lock()
        self._deadline: float | None = None
        self._was_late = False

    def run(self) -> None:
        with contextlib.suppress(ReadError):  # the first task reports it
            self._start()
        while entry := self._tasks.get():
            task, future = entry
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._run_task(task))
            except ReadError as error:
                future.set_exception(error)
        self._stop()

    def kill(self) -> None:
        if process := self.process:
            _kill(process)

    def kill_if_late(self, extra: float) -> None:
        with self._lock:
            if self._deadline is None:
                return
            self._deadline += extra
            if monotonic() > self._deadline:
                self._was_late = True
                self.kill()

    def _run_task(self, task: Work) -> Any:
        try:
            answer = self._exchange(self._start(), task, self._page_timeout)
        except ReadError as error:
            if error.cause != "crash":
                raise
            # The worker may have died before it got the task: try a fresh one, once.
            answer = self._exchange(self._start(), task, self._page_timeout)
        self._pages += 1
        if self._was_late or self._pages >= self._recycle_after:
            self._stop()
        if isinstance(answer, Failure):
            raise ReadError("error", answer.message)
        return answer

    def _start(self) -> "subprocess.Popen[bytes]":
        if self.process and self.process.poll() is None:
            return self.process
        self._stop()
        if self._is_closed.is_set():
            raise ReadError("closed", "the pool was closed")
        if self._failure and monotonic() < self._failure[1] + _SECONDS_BETWEEN_STARTS:
            raise ReadError("start", self._failure[0])
        try:
            self._failure = None
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "dedup.workers.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(),
                # Keeps Ctrl-C for the crawler, which then closes the pipe, and lets the pool kill
                # the worker's own children with it.
                start_new_session=True,
            )
            if self._is_closed.is_set():  # close() may have run before there was a process to kill
                raise ReadError("closed", "the pool was closed")
            answer = self._exchange(self.process, None, _START_SECONDS)
            if isinstance(answer, Failure):
                raise RuntimeError(answer.message)
        except Exception as error:
            self._stop()
            if isinstance(error, ReadError) and error.cause == "closed":
                raise
            self._failure = f"the worker process did not start: {error}", monotonic()
            raise ReadError("start", self._failure[0]) from error
        for warning in answer:
            _warn_once(warning)
        self._pages = 0
        return self.process

    def _exchange(self, process: "subprocess.Popen[bytes]", task: Work | None, limit: float) -> Any:
        assert process.stdin
        assert process.stdout
        self._was_late = False
        self._deadline = monotonic() + limit
        try:
            if task is None:
                process.stdin.write(self._setup)
                process.stdin.flush()
                _skip_stray_output(process.stdout)
            else:
                pickle.dump(task, process.stdin)
                process.stdin.flush()
            return pickle.load(process.stdout)
        except BaseException as error:  # half a pickle can raise anything
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)  # for its own exit status
            self._stop()
            if self._is_closed.is_set():
                raise ReadError("closed", "the pool was closed") from error
            if self._was_late:
                raise ReadError("timeout", f"not read within {limit:g} seconds") from error
            raise ReadError("crash", f"worker died (exit status {process.returncode})") from error
        finally:
            with self._lock:
                self._deadline = None

    def _stop(self) -> None:
        if process := self.process:
            self.process = None
            _kill(process)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # when flushing what nobody will read
                    if pipe:
                        pipe.close()


@cache
def _warn_once(message: str) -> None:
    logger.warning("%s", message)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a worker and its children, which would keep its pipes open."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _skip_stray_output(output: IO[bytes]) -> None:
    """Read up to `READY`: Python's start-up files may have printed something before it."""
    last = b""
    while last != READY:
        byte = output.read(1)
        if not byte:
            raise EOFError
        last = (last + byte)[-len(READY) :]


def _environment() -> dict[str, str]:
    """Return the environment of a worker: this process's import path, one thread for NumPy.

    The secret is removed; a worker gets the key that is derived from it through its pipe.
    """
    entries = [entry or os.getcwd() for entry in sys.path if isinstance(entry, str)]
    path = os.pathsep.join(entries)
    own = {name: value for name, value in os.environ.items() if name != "DEDUP_SECRET"}
    return {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **own, "PYTHONPATH": path}
