"""Looking at processes through /proc."""

import os
import time
from contextlib import suppress
from pathlib import Path


def is_running(process_id):
    """Whether the process exists and is no zombie."""
    try:
        status = Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


def ids_of_workers(pool):
    """The ids of the running worker processes of *pool*."""
    return [worker.process.pid for worker in pool._workers if worker.process]


def children_of(process_id):
    """The ids of the processes that a process started, ended or not; none if it is gone."""
    tasks = Path(f"/proc/{process_id}/task").glob("*/children")
    with suppress(FileNotFoundError, ProcessLookupError):
        return [int(child) for task in tasks for child in task.read_text().split()]
    return []


def children():
    """The ids of the running processes that this process started."""
    return set(filter(is_running, children_of(os.getpid())))


def seconds_until(condition, limit):
    """The time until *condition* holds; fails after *limit* seconds."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > limit:
            raise AssertionError(f"not within {limit} seconds")
        time.sleep(0.02)
    return time.monotonic() - start
