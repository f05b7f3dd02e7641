"""A pool of worker processes that survives what pages do to them."""

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future
from time import monotonic
from typing import Any

from dedup.page import Page, PageReader
from dedup.workers.protocol import Failure, Setup, Task

_START_SECONDS = 120.0
_START_ATTEMPTS = 3
_WATCH_EVERY = 0.2


class ReadError(Exception):
    """A page could not be read.

    *cause* is "error" (the extractor raised), "crash" (its process died), "timeout" (it was killed
    for exceeding the time limit), "start" (no worker process could be started) or "closed".
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class Pool(ABC):
    """Reads pages, somewhere."""

    @abstractmethod
    def start(self) -> None:
        """Make ready to read; may be called once."""

    @abstractmethod
    def submit(self, task: Task) -> "Future[Page]":
        """Return the future page; its exception can only be a `ReadError`."""

    @abstractmethod
    def close(self) -> None:
        """End all work at once; pages not read yet fail with cause "closed"."""


class WorkerPool(Pool):
    """Processes that read pages, each fed through pipes by a thread of its own.

    Not a ``ProcessPoolExecutor``: that one runs an unguarded main script again in every child, and
    neither limits the time of a page nor outlives the death of a child.
    """

    def __init__(
        self,
        reader: PageReader,
        *,
        workers: int = 1,
        page_timeout: float = 30.0,
        recycle_after: int = 2000,
    ) -> None:
        """Prepare *workers* processes, each replaced after *recycle_after* pages.

        *page_timeout*: seconds after which a page is given up and its worker killed.

        Raises ValueError if *reader* cannot be sent to another process.
        """
        try:
            setup = pickle.dumps(Setup(reader, page_timeout))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(f"cannot be sent to a worker process: {error}") from error
        self._tasks: queue.SimpleQueue[tuple[Task, Future[Page]] | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._workers = [
            _Worker(self._tasks, self._closed, setup, page_timeout, recycle_after)
            for _ in range(workers)
        ]
        self._watchdog = threading.Thread(target=self._watch, name="dedup-watchdog", daemon=True)

    def start(self) -> None:
        for thread in (*self._workers, self._watchdog):
            thread.start()

    def submit(self, task: Task) -> "Future[Page]":
        future: Future[Page] = Future()
        if self._closed.is_set():
            future.set_exception(ReadError("closed", "the pool is closed"))
        else:
            self._tasks.put((task, future))
        return future

    def close(self) -> None:
        self._closed.set()
        for worker in self._workers:
            self._tasks.put(None)
            worker.kill()
        for worker in self._workers:
            if worker.is_alive():
                worker.join()
        while True:
            try:
                entry = self._tasks.get_nowait()
            except queue.Empty:
                return
            if entry:
                entry[1].set_exception(ReadError("closed", "the pool was closed"))

    @property
    def process_ids(self) -> list[int]:
        """The ids of the running worker processes."""
        return [worker.process.pid for worker in self._workers if worker.process]

    def _watch(self) -> None:
        while not self._closed.wait(_WATCH_EVERY):
            for worker in self._workers:
                worker.kill_if_late()


class _Worker(threading.Thread):
    """One worker process at a time, and the thread that talks to it."""

    def __init__(
        self,
        tasks: "queue.SimpleQueue[tuple[Task, Future[Page]] | None]",
        closed: threading.Event,
        setup: bytes,
        page_timeout: float,
        recycle_after: int,
    ) -> None:
        super().__init__(name="dedup-worker", daemon=True)
        self.process: subprocess.Popen[bytes] | None = None
        self._tasks = tasks
        self._closed = closed
        self._setup = setup
        self._page_timeout = page_timeout
        self._recycle_after = recycle_after
        self._pages = 0
        self._failed_starts = 0
        # Without the lock, a page that ends just in time could let the next one die in its place.
        self._lock = threading.Lock()
        self._deadline: float | None = None
        self._was_late = False

    def run(self) -> None:
        with contextlib.suppress(ReadError):  # the first page will try again, and tell
            self._start()
        while entry := self._tasks.get():
            task, future = entry
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._read(task))
            except ReadError as error:
                future.set_exception(error)
            except Exception as error:  # an answer that cannot be unpickled: any error is possible
                self._stop()
                future.set_exception(ReadError("error", f"{type(error).__name__}: {error}"))
        self._stop()

    def kill(self) -> None:
        if process := self.process:
            process.kill()

    def kill_if_late(self) -> None:
        with self._lock:
            if self._deadline is not None and monotonic() > self._deadline:
                self._was_late = True
                self.kill()

    def _read(self, task: Task) -> Page:
        if self._closed.is_set():
            raise ReadError("closed", "the pool was closed")
        process = self._start()
        answer = self._exchange(process, task, self._page_timeout)
        self._pages += 1
        if self._was_late or self._pages >= self._recycle_after:
            self._stop()
        if isinstance(answer, Failure):
            raise ReadError("error", answer.message)
        assert isinstance(answer, Page)
        return answer

    def _start(self) -> "subprocess.Popen[bytes]":
        if self.process:
            return self.process
        if self._failed_starts >= _START_ATTEMPTS:
            raise ReadError("start", "no worker process could be started")
        self._failed_starts += 1
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "dedup.workers.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is for the crawler, which then closes the pipe
            )
        except (OSError, ValueError) as error:
            raise ReadError("start", f"the worker process did not start: {error}") from error
        if self._closed.is_set():  # close() may have looked for a process to kill too early
            self._stop()
            raise ReadError("closed", "the pool was closed")
        try:
            answer = self._exchange(self.process, None, _START_SECONDS)
        except ReadError as error:
            if error.cause == "closed":
                raise
            raise ReadError("start", f"the worker process did not start: {error}") from error
        if isinstance(answer, Failure):
            self._stop()
            raise ReadError("start", f"the worker process did not start:\n{answer.message}")
        self._failed_starts = 0
        self._pages = 0
        return self.process

    def _exchange(self, process: "subprocess.Popen[bytes]", task: Task | None, limit: float) -> Any:
        assert process.stdin
        assert process.stdout
        self._was_late = False
        self._deadline = monotonic() + limit
        try:
            if task is None:
                process.stdin.write(self._setup)
            else:
                pickle.dump(task, process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self._stop()
            if self._closed.is_set():
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
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # of what was written and never read
                    if pipe:
                        pipe.close()


def _environment() -> dict[str, str]:
    """Return the environment of a worker: this process's import path, one thread for NumPy."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
