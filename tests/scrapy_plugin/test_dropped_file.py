"""Dropped items in a file: each on a line of its own, whatever happened to the line before it."""

import errno
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from filelock import FileLock

from dedup.rule import Kind, Verdict
from dedup.scrapy_plugin.dropped_file import DroppedFile

VERDICT = Verdict(Kind.NEAR, "simhash", "http://a/", 2)
WHOLE = b'{"item": "whole"}\n'


def readable(path):
    """The items that a reader finds, line by line; a torn line is none."""
    items = []
    for line in path.read_bytes().splitlines():
        try:
            items.append(json.loads(line)["item"])
        except ValueError:
            items.append("torn")
    return items


@pytest.fixture
def path(tmp_path):
    return tmp_path / "dropped.jsonl"


def test_a_line_torn_anywhere_does_not_swallow_the_next_item(path):
    for length in range(len(WHOLE) + 1):
        path.write_bytes(WHOLE + WHOLE[:length])
        DroppedFile(path).add("next", "http://b/", VERDICT)
        DroppedFile(path).add("last", "http://b/", VERDICT)
        [first, *torn, before, last] = readable(path)
        assert (first, before, last) == ("whole", "next", "last")
        assert torn == ([] if not length else ["whole"] if length >= len(WHOLE) - 1 else ["torn"])


def test_a_full_disk_leaves_no_half_of_an_item_and_no_other_ones(path, small_disk):
    path = small_disk / "dropped.jsonl"
    one, other = DroppedFile(path), DroppedFile(path)
    one.add("first", "http://b/", VERDICT)
    other.add("second", "http://b/", VERDICT)
    for dropped in (one, other, one):
        with pytest.raises(OSError, match="No space") as raised:
            dropped.add("x" * 500_000, "http://b/", VERDICT)
        assert raised.value.errno == errno.ENOSPC
    other.add("third", "http://b/", VERDICT)
    assert readable(path) == ["first", "second", "third"]


def test_who_writes_waits_for_another_that_is_in_the_middle_of_a_line(path):
    with ThreadPoolExecutor(1) as thread:
        with FileLock(f"{path}.lock"), path.open("ab", buffering=0) as file:
            file.write(WHOLE[:9])
            adding = thread.submit(DroppedFile(path).add, "next", "http://b/", VERDICT)
            with pytest.raises(TimeoutError):
                adding.result(timeout=0.3)
            file.write(WHOLE[9:])
        adding.result(timeout=10)
    assert readable(path) == ["whole", "next"]


def test_who_holds_the_lock_for_ever_does_not_stop_a_crawl(path, monkeypatch):
    monkeypatch.setattr("dedup.scrapy_plugin.dropped_file._SECONDS_TO_WAIT", 0.01)
    with FileLock(f"{path}.lock"), ThreadPoolExecutor(1) as thread:
        adding = thread.submit(DroppedFile(path).add, "next", "http://b/", VERDICT)
        with pytest.raises(OSError, match="lock"):  # the item is kept then
            adding.result(timeout=10)


def test_a_file_that_was_moved_away_is_begun_anew(path):
    dropped = DroppedFile(path)
    dropped.add("first", "http://b/", VERDICT)
    path.rename(path.with_name("moved"))
    dropped.add("second", "http://b/", VERDICT)
    assert readable(path.with_name("moved")) == ["first"]
    assert readable(path) == ["second"]


def test_a_url_is_cut_and_an_item_is_not(path):
    DroppedFile(path).add("x" * 10**6, "http://a/" + "b" * 10**6, VERDICT)
    [line] = map(json.loads, path.read_text().splitlines())
    assert (len(line["url"]), len(line["item"])) == (2_500, 10**6)
