"""Disks that can be filled: small ones in memory where they can be mounted, else none."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def disk(folder: Path) -> Iterator[bool]:
    """Make a disk of *folder*, and yield whether that could be done."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> None:
    with (folder / "filling").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(1 << 20)):
            pass


def free(folder: Path) -> None:
    (folder / "filling").unlink(missing_ok=True)
