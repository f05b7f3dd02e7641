"""The file of dropped items: what is a line of it, and what is none."""

import gzip
import json

from dedup.dropped import DroppedItem, read_dropped
from dedup.rule import Kind, Verdict
from dedup.scrapy_plugin.dropped_file import DroppedFile

LINE = {
    "url": "http://a/2", "verdict": "near-duplicate", "original": "http://a/1", "distance": 2,
    "method": "simhash", "dropped": "2026-01-01T00:00:00+00:00", "item": {"url": "http://a/2"},
}  # fmt: skip


def read(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return list(read_dropped(path))


def test_what_a_crawl_writes_is_read(tmp_path):
    verdict = Verdict(Kind.EXACT, "simhash", "http://a/1", 0)
    DroppedFile(tmp_path / "dropped").add({"a": "é"}, "http://a/2", verdict, {"key": "http://a/2"})
    [found] = read_dropped(tmp_path / "dropped")
    assert found._replace(dropped="") == DroppedItem(
        "http://a/2", "exact-duplicate", "http://a/1", 0, "simhash", "", {"a": "é"},
        {"key": "http://a/2"},
    )  # fmt: skip


def test_lines_without_a_record_and_with_more_than_is_known_are_read(tmp_path):
    [found] = read(tmp_path / "dropped", json.dumps({**LINE, "later": 1}))
    assert found == DroppedItem(**LINE)
    (tmp_path / "dropped.gz").write_bytes(gzip.compress((tmp_path / "dropped").read_bytes()))
    assert list(read_dropped(tmp_path / "dropped.gz")) == [found]


def test_other_lines_are_named_and_do_not_hide_those_that_follow(tmp_path):
    others = [
        '{"url": "http://a/2", "item": {"te',
        '{"url": "http://a/2"}',
        "[]",
        json.dumps({**LINE, "verdict": "unchanged"}),
        json.dumps({**LINE, "verdict": ["new"]}),
        json.dumps({**LINE, "distance": "2"}),
        json.dumps({**LINE, "url": None}),
        json.dumps({**LINE, "item": None}),
        "[" * 100_000,
        '"\\ud800',
    ]
    found = read(tmp_path / "dropped", *others, "", json.dumps(LINE))
    assert found[-1] == DroppedItem(**LINE)
    assert len(found) == len(others) + 1
    for number, line in enumerate(found[:-1], 1):
        assert isinstance(line, ValueError)
        assert str(line).startswith(f"{tmp_path / 'dropped'}, record {number}: ")
