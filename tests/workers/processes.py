"""Looking at processes through /proc."""

import os
import time
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


def children():
    """The ids of the running processes that this process started."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and is_running(folder.name):
            try:
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(parent) == os.getpid():
                found.add(int(folder.name))
    return found


def seconds_until(condition, limit):
    """The time until *condition* holds; fails after *limit* seconds."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > limit:
            raise AssertionError(f"not within {limit} seconds")
        time.sleep(0.02)
    return time.monotonic() - start
