"""Texts of one's own, without Scrapy."""

from typing import Any

import pytest
from own_process import run_python
from texts import article, edited, page

from dedup import Deduplicator
from dedup.deduplicator import Group
from dedup.rule import Kind
from dedup.stores import LedgerError, LedgerInUseError
from dedup.stores.ledger_file import LedgerFile, lock

TEXTS = {str(number): article(number) for number in range(5)}


def test_a_key_that_comes_again_repeats_what_has_it(tmp_path: Any):
    texts = [
        ("k", article(3)), ("k", article(3)), ("k", edited(article(3))), ("k", article(2)),
        ("", "few words"), ("", "few words"), ("", "other words"), ("l", article(2)),
    ]  # fmt: skip
    kinds = [
        Kind.NEW, Kind.EXACT, Kind.NEAR, Kind.NEW, Kind.NEW, Kind.EXACT, Kind.NEW, Kind.EXACT,
    ]  # fmt: skip
    with Deduplicator() as one, Deduplicator() as other:
        assert [one.add(*text).kind for text in texts] == kinds
        assert [verdict.kind for verdict in other.add_many(texts)] == kinds
        assert list(one) == [
            Group("k", ("k",)), Group("k", ("l",)), Group("", ("",)), Group("", ()),
        ]  # fmt: skip
        one.save(tmp_path / "texts.sqlite")
    with Deduplicator.load(tmp_path / "texts.sqlite") as loaded:
        assert loaded.add("k", article(2)).kind is Kind.UNCHANGED
        assert loaded.add("m", article(3)).original == "k"
        assert loaded.add("k", article(4)).kind is Kind.CHANGED
        assert loaded.add("k", article(4)).kind is Kind.EXACT


def test_texts_that_could_not_be_decoded_are_duplicates_if_they_are_equal():
    footer = " This page was made by example company and may be printed for private use only, see "
    footer += "our terms of service for details, and contact us for anything else"
    tea, sea = ("\ufffd\ufffd\ufffd\ufffd " * count + footer for count in (40, 90))
    with Deduplicator("verified") as texts:
        kinds = [texts.add(*text).kind for text in (("a", tea), ("b", sea), ("c", tea))]
        assert kinds == [Kind.NEW, Kind.NEW, Kind.EXACT]
        long = article(3) + article(4)
        texts.add("d", long)
        for share, kind in ((100, Kind.NEAR), (70, Kind.NEW)):
            undecoded = long.replace("e", "\ufffd", len(long) // share)
            assert texts.add(str(share), undecoded).kind is kind


@pytest.mark.parametrize("digits", ["0123456789", "٠١٢٣٤٥٦٧٨٩"])
def test_tables_of_figures_are_duplicates_if_they_are_equal(digits):
    """All of them have the same few numbers, in another order."""
    rows = [f"{number * 7 % 60:02} {number * 11 % 60:02}" for number in range(90)]
    table, other = (
        "\n".join(some).translate(str.maketrans("0123456789", digits))
        for some in (rows, rows[::-1])
    )
    words = "a train to the north leaves when the bridge is open " * 20
    with Deduplicator() as seen:
        assert [str(seen.add(key, text)) for key, text in [("a", table), ("b", other)]] == [
            "new"
        ] * 2
        assert seen.add("c", table).is_duplicate
        assert not seen.add("d", words + table).is_duplicate
        assert seen.add("e", words + other).is_duplicate


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({}, "a text must be a string, got None"),
        ({"text": "a", "html": "<p>a"}, "give a text or html, not both"),
        ({"html": b"<p>a"}, "html must be a string, got b'<p>a'"),
    ],
)
def test_what_is_no_text_is_refused(texts: dict[str, Any], message: str):
    with Deduplicator() as articles:
        with pytest.raises(TypeError, match=message):
            articles.add("a", **texts)
        with pytest.raises(TypeError, match=message):
            articles.find(**texts)
        with pytest.raises(TypeError, match="a text must be a string, got None"):
            list(articles.add_many([("a", None)]))  # type: ignore[list-item]


def test_after_its_end_it_answers_nothing():
    articles = Deduplicator()
    articles.close()
    for ask in (lambda: articles.add("a", "b"), lambda: articles.find("b"), lambda: list(articles)):
        with pytest.raises(ValueError, match="closed"):
            ask()


def test_to_find_keeps_nothing():
    with Deduplicator() as texts:
        assert texts.find(TEXTS["1"]).kind is Kind.NEW
        texts.add("1", TEXTS["1"])
        assert texts.find(TEXTS["1"]).original == "1"
        assert list(texts) == [Group("1", ())]
        assert texts.find("").reason == "empty"


def test_pages_are_compared_by_their_main_texts_and_by_what_they_show():
    with Deduplicator() as pages:
        pages.add("a", html=page(article(3), title="Tea"))
        assert pages.add("b", html=page(article(3), title="Tea", footer="2026")).original == "a"
        other = pages.add("c", html=page(edited(article(3)), title="Coffee"))
        assert (other.kind, other.original) == (Kind.NEW, "a")
        assert other.objection


def test_what_was_saved_is_known_and_what_was_not_is_forgotten(tmp_path: Any):
    path = tmp_path / "texts.sqlite"
    with Deduplicator("minhash", max_distance=30) as texts:
        list(texts.add_many(TEXTS.items()))
        texts.save(path)
        texts.add("later", article(9))
    with Deduplicator.load(path, "minhash", max_distance=30) as texts:
        assert len(texts) == len(TEXTS)
        assert texts.add("1", TEXTS["1"]).kind is Kind.UNCHANGED
        assert texts.add("2", article(9)).kind is Kind.CHANGED
        assert texts.add("elsewhere", TEXTS["3"]).original == "3"
        path.chmod(0o600)
        texts.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with Deduplicator.load(path, "minhash") as texts:
        assert sorted(group.original for group in texts) == sorted(TEXTS)
        assert texts.find(TEXTS["2"]).kind is Kind.NEW
        assert texts.find(article(9)).original == "2"
        assert Group("3", ("elsewhere",)) in list(texts)


def test_what_a_killed_process_left_beside_a_file_does_not_change_what_is_saved(tmp_path: Any):
    path = tmp_path / "texts.sqlite"
    with Deduplicator() as texts:
        texts.add("old", article(1))
        texts.save(path)
    # The log of a crawl that was killed.
    change = "file.execute('UPDATE pages SET url = url || url'); file.commit(); os._exit(0)"
    open_it = "file = sqlite3.connect(sys.argv[1]); file.execute('PRAGMA journal_mode = WAL')"
    killed = f"import os, sqlite3, sys; {open_it}; {change}"
    run_python("-c", killed, path)
    with Deduplicator() as texts:
        texts.add("new", article(2))
        texts.save(path)
    with Deduplicator.load(path) as texts:
        assert list(texts) == [Group("new", ())]


def test_a_file_that_a_crawl_uses_is_not_replaced(tmp_path: Any):
    path = tmp_path / "texts.sqlite"
    with Deduplicator() as texts, lock(LedgerFile(path)), pytest.raises(LedgerInUseError):
        texts.save(path)


def test_a_file_of_another_method_and_what_is_no_ledger_are_refused(tmp_path: Any):
    path = tmp_path / "texts.sqlite"
    with Deduplicator() as texts:
        texts.save(path)
    with pytest.raises(LedgerError, match=rf"^{path} was made with other settings: method"):
        Deduplicator.load(path, "minhash")
    (tmp_path / "none.sqlite").write_text("no ledger")
    with pytest.raises(LedgerError):
        Deduplicator.load(tmp_path / "none.sqlite")
    with pytest.raises(OSError, match="missing"):
        Deduplicator.load(tmp_path / "missing.sqlite")


def test_what_cannot_be_chosen_is_an_error():
    with pytest.raises(ValueError, match="min_tokens must be 0 or more, got -1"):
        Deduplicator(min_tokens=-1)
    with pytest.raises(ValueError, match="did you mean minhash"):
        Deduplicator("minhas")
