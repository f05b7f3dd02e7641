"""Dropped items in a file: each on a line of its own, whatever happened to the line before it."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from dedup.rule import Kind, Verdict
from dedup.scrapy_plugin.dropped_file import DroppedFile

VERDICT = Verdict(Kind.NEAR, "simhash", "http://a/", 2)
WHOLE = b'{"item": "whole"}\n'


def readable(path):
    """The items that a reader finds, line by line; a torn line is none, and no empty one counts."""
    items = []
    for line in filter(None, path.read_bytes().splitlines()):
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


def test_an_item_for_which_there_is_no_room_is_refused_and_hides_no_other(path, small_disk):
    path = small_disk / "dropped.jsonl"
    one, other = DroppedFile(path), DroppedFile(path)
    one.add("first", "http://b/", VERDICT)
    other.add("second", "http://b/", VERDICT)
    with pytest.raises(OSError, match="No space"):
        one.add("x" * 500_000, "http://b/", VERDICT)
    with path.open("r+b") as file:
        file.truncate(100_000)  # there is room again
    other.add("third", "http://b/", VERDICT)
    assert readable(path) == ["first", "second", "torn", "third"]


def test_crawls_that_append_at_once_tear_no_line(path):
    """But one may be empty, where half a line of another was seen."""
    with ThreadPoolExecutor(8) as threads:
        for _ in range(160):
            threads.submit(DroppedFile(path).add, "x" * 9_000, "", VERDICT)
    assert readable(path) == ["x" * 9_000] * 160


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


def test_any_item_can_be_written_into_a_folder_that_is_not_there_yet(path):
    path = path.parent / "new" / path.name
    DroppedFile(path).add({"bytes": b"\xff", "object": object, "half": "\ud800"}, "", VERDICT)
    [item] = readable(path)
    assert item["bytes"] == "\\xff"
    assert "object" in item["object"]
