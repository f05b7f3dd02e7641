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


def test_near_duplicates_are_grouped_under_the_text_that_was_kept():
    with Deduplicator() as texts:
        for key, text in (("a", article(3)), ("b", edited(article(3))), ("c", article(2))):
            texts.add(key, text)
        assert list(texts) == [Group("a", ("b",)), Group("c", ())]


def test_one_by_one_and_many_at_once_get_the_same_verdicts():
    many = [(str(n), edited(article(n // 2)) if n % 2 else article(n // 2)) for n in range(40)]
    with Deduplicator("verified") as one, Deduplicator("verified") as other:
        assert [one.add(*text) for text in many] == list(other.add_many(many))


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


def test_a_name_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match="did you mean minhash"):
        Deduplicator("minhas")
