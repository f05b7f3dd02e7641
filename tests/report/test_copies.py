"""Every duplicate of a crawl, in a file."""

import json
import os
from contextlib import closing

import pytest
from report_of import exact, near, new, page

from dedup.report import CopyLog, Details, Summary
from dedup.report.copies import copy_of
from dedup.report.counts import Counters
from dedup.report.report import Copy

CHINESE = "http://a/%E7%B1%B3%E7%B2%89"


@pytest.fixture
def log(tmp_path):
    with closing(CopyLog(tmp_path / "new" / "reports")) as opened:
        yield opened


def test_copies_come_back_in_their_order_with_their_readable_urls(log):
    copies = [
        copy_of(exact("http://a/"), CHINESE, "米粉"),
        copy_of(near("http://a/", 0.25), "http://a/\ud800\n", None),
    ]
    for copy in copies:
        log.add("http://a/", copy)
    assert [copy for _, copy in log] == copies
    assert copies[0] == Copy(CHINESE, "exact-duplicate", 0, "米粉", "http://a/米粉")
    assert {original for original, _ in log} == {"http://a/"}


def test_the_file_has_a_line_of_json_for_each_and_the_rights_of_other_files(log, tmp_path):
    for number in range(3000):
        log.add("http://a/", copy_of(near("http://a/", 2), f"http://a/{number}", "T" * 5000))
    [part] = (tmp_path / "new" / "reports").iterdir()
    assert part.suffix == ".part"
    path = log.publish(part.with_name("a.copies.jsonl"))
    log.add("http://a/", copy_of(near("http://a/", 2), "http://a/later", None))
    log.close()
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line["url"] for line in lines[:3000]] == [f"http://a/{n}" for n in range(3000)]
    assert lines[0].keys() == {"original", "url", "verdict", "distance", "title", "readable"}
    assert len(lines[0]["title"]) == 200
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
    assert os.listdir(path.parent) == [path.name]


def test_what_is_not_published_leaves_no_file(log, tmp_path):
    log.add("http://a/", copy_of(exact("http://a/"), "http://b/", None))
    log.close()
    assert list((tmp_path / "new" / "reports").iterdir()) == []


def test_without_copies_there_is_no_file(log, tmp_path):
    assert not log
    assert list(log) == []
    assert log.publish(tmp_path / "a") is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_costs_copies_and_nothing_else(tmp_path, caplog):
    (tmp_path / "file").touch()
    log = CopyLog(tmp_path / "file" / "reports")
    for _ in range(3):
        log.add("http://a/", copy_of(exact("http://a/"), "http://b/", None))
    assert log.lost == 3
    assert list(log) == []
    assert len(caplog.messages) == 1


def test_a_crawl_logs_each_duplicate_of_another_page_once(log):
    summary = Summary(Counters(), {}, details=Details(copies=log))
    summary.record(new(), "http://a/", 9, page("some words", "One"))
    summary.record(exact("http://a/"), "http://b/", 9, page("some words", "Two"))
    summary.record(exact("http://a/"), "http://a/", 9, page("some words", "One"))
    assert [(one.original, one.copy.url, one.copy.title) for one in log] == [
        ("http://a/", "http://b/", "Two")
    ]
