"""The texts that are kept for the differences that a report shows."""

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from cases import each
from report_of import exact, near, new, page
from texts import CHINESE, TRADITIONAL_CHINESE, article

from dedup.report.events import PageEvents
from dedup.rule import Kind, Verdict
from dedup.text import writable


@pytest.fixture
def events():
    with closing(PageEvents()) as opened:
        yield opened


def kept(events):
    return [url for url, *_ in events.texts()]


def test_a_copy_is_kept_beside_its_original_only(events):
    events.add_text(new(), "a", page("the original", "Title"))
    events.add_text(near("a", 1), "a2", page("the copy"))
    events.add_text(near("missing", 1), "b2", page("another copy"))
    events.add_text(exact("a"), "a3", page("the original"))
    for kind in (Kind.SKIPPED, Kind.REPEATED):
        events.add_text(Verdict(kind, "simhash", "a", 1), f"{kind}", page("text"))
    assert events.text("a") == ("Title", "the original")
    assert events.text("a2") == (None, "the copy")
    assert events.text("b2") is None
    assert kept(events) == ["a", "a2"]


def test_the_first_pages_are_kept_and_the_first_of_their_copies(events, monkeypatch):
    monkeypatch.setattr("dedup.report.events._TEXTS", 3)
    monkeypatch.setattr("dedup.report.events._COPIES_WITH_TEXTS", 2)
    for url, kind in zip("abcd", (Kind.NEW, Kind.CHANGED, Kind.UNCHANGED, Kind.NEW), strict=True):
        events.add_text(Verdict(kind, "simhash"), url, page("text"))
        for copy in range(3):
            events.add_text(near(url, 1), f"{url}{copy}", page("text"))
            events.add_text(new(), url, page("another item"))
    assert kept(events) == ["a", "a0", "a1", "b", "b0", "c"]


def test_a_url_is_kept_once_and_may_be_anything(events):
    urls = ["", "http://a/\ud800", "x" * 2_000, "'); DROP TABLE texts; --"]
    for url in urls:
        for text in ("first", "second"):
            events.add_text(new(), url, page(text, "title \ud800"))
            events.add_text(near(url, 1), url, page(text))
        assert events.text(url) == ("title \\ud800", "first")
    assert kept(events) == list(map(writable, urls))


def test_nothing_is_kept_of_pages_without_text(events):
    events.add_text(new(), "a", page(""))
    assert (kept(events), events.text("a")) == ([], None)


def test_long_texts_and_titles_are_cut(events):
    events.add_text(new(), "a", page("x" * 10**6, "T" * 10**6))
    assert events.text("a") == ("T" * 997 + "...", "x" * 40_000)


def record(events, *numbers):
    chooser = random.Random(0)
    for number in numbers:
        text = chooser.randbytes(4000).hex()  # no compression makes it small
        events.add_text(new(), f"{number}", page(f"{number} {text}", f"Title {number}"))


def test_a_full_disk_costs_later_texts_only(caplog, events):
    events._database.execute("PRAGMA bulk.max_page_count = 40")  # as a disk of 160 kB
    record(events, *range(100))
    urls = kept(events)
    assert 5 < len(urls) == 100 - events.texts_lost < 50
    assert urls == [f"{number}" for number in range(len(urls))]
    events._database.execute("PRAGMA bulk.max_page_count = 4000")
    record(events, 100)  # no more are kept
    assert kept(events) == list(map(writable, urls))
    # What is there is whole, and what is not is said not to be.
    assert all(text.startswith(f"{url} ") for url, _, text in events.texts())
    for number in range(101):
        text = events.text(f"{number}")
        assert text is None if number >= len(urls) else text[1].startswith(f"{number} ")
    [message] = [record.getMessage() for record in caplog.records]
    assert "cannot be kept (database or disk is full)" in message


def test_a_disk_that_cannot_be_read_costs_texts_only(caplog, events):
    record(events, 1)
    events._database.execute("DROP TABLE bulk.texts")
    assert (kept(events), events.text("1"), events.chinese_scripts()) == ([], None, None)
    [message] = [record.getMessage() for record in caplog.records]
    assert "cannot be kept (no such table: texts)" in message


def test_texts_can_be_read_in_another_thread(events):
    events.add_text(new(), "a", page("text"))
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: list(events.texts())).result() == [("a", None, "text")]


def add_all(events, *pages):
    for number, (kind, text) in enumerate(pages):
        verdict = Verdict(kind, "simhash")
        events.add(verdict, f"{number}", page(text))
        events.add_text(verdict, f"{number}", page(text))


def test_kept_pages_are_counted_by_their_chinese_scripts(events):
    add_all(
        events,
        (Kind.NEW, f"{CHINESE} {article(1, 10)}"),
        (Kind.UNCHANGED, CHINESE),
        (Kind.CHANGED, TRADITIONAL_CHINESE),
        (Kind.NEW, article(1)),
    )
    assert events.chinese_scripts() == {"simplified": 1, "traditional": 1}


@each("text", [CHINESE, article(1), "國語の學校へ行きます。電車の時間です。" * 9])
def test_one_script_alone_says_nothing(text):
    with closing(PageEvents()) as events:
        add_all(events, (Kind.NEW, CHINESE), (Kind.NEW, text))
        assert events.chinese_scripts() is None
