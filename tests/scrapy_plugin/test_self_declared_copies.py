"""Pages that say themselves of which page they are a copy are believed within bounds."""

import pytest

from dedup.evidence import Evidence, Objection
from dedup.record import PageRecord
from dedup.rule import Kind, Rule, Verdict
from dedup.scrapy_plugin import self_declared_copies
from dedup.scrapy_plugin.self_declared_copies import SelfDeclaredCopies

COPY = PageRecord("http://a/copy", tokens=500, evidence=Evidence(1.0, bytes(16), 9).to_bytes())


def is_copy(words: SelfDeclaredCopies, original: str) -> bool:
    verdict = Verdict(Kind.NEW, "simhash", original=original, objection=Objection.TITLE)
    return words.is_copy(verdict, COPY, original)


def test_two_pages_are_believed_of_each_original():
    words = SelfDeclaredCopies(Rule())
    for expected in (True, True, False):
        assert is_copy(words, "http://a/tea") == expected
        words.believe("http://a/tea")
    assert is_copy(words, "http://a/cup")


def test_what_is_taken_back_takes_no_place(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(self_declared_copies, "_MOST_KNOWN", 1)
    words = SelfDeclaredCopies(Rule())
    words.believe("http://a/tea")
    assert not is_copy(words, "http://a/cup")
    words.take_back("http://a/tea")
    assert is_copy(words, "http://a/cup")
