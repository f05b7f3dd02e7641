"""Files that the system writes to the disk, whatever becomes of their names."""

import errno
import os
from pathlib import Path

import pytest

from dedup.scrapy_plugin.feeds.disk import Disk


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_what_is_written_after_it_was_taken_is_for_the_next_time(tmp_path: Path):
    disk = Disk()
    with (tmp_path / "feed").open("ab") as file:
        disk.note_write(1, file)
        taken = disk.take()
        disk.note_write(1, file)
        disk.synchronise(taken)
        again = disk.take()
        assert len(again) == 1
        disk.synchronise(again)
        assert disk.take() == []
    disk.close()


def test_no_descriptor_is_left(tmp_path: Path):
    before, disk = descriptors(), Disk()
    for number in range(5):
        with (tmp_path / str(number)).open("ab") as file:
            disk.note_write(number, file)
            disk.synchronise(disk.take())
            disk.note_write(number, file)
        if number < 3:
            disk.finish(number)
    disk.close()
    assert descriptors() == before


def test_what_is_no_regular_file_is_left_out():
    disk = Disk()
    with open("/dev/null", "ab") as file:
        disk.note_write(1, file)
        assert disk.take() == []
        disk.finish(1)


def test_a_failure_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The system tells of it once, and has forgotten what it could not write."""

    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    disk = Disk()
    with (tmp_path / "feed").open("ab") as file:
        disk.note_write(1, file)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", failing)
        disk.finish(1)
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output"):
            disk.synchronise(disk.take())
