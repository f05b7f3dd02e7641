"""A ledger learns of restored pages: all of them, or none."""

import pytest
from ledgers import OTHERS, add, crawling, query, record

from dedup.methods import SimHash
from dedup.record_field import MadeWith, digest_of_identity, to_field
from dedup.stores import LedgerInUseError
from dedup.stores.edit import restoring
from dedup.stores.ledger_file import LedgerError
from dedup.stores.reader import LedgerReader

IDENTITY = {**SimHash().identity, **OTHERS}
MADE_WITH = MadeWith("simhash", digest_of_identity(SimHash().identity), **OTHERS)


@pytest.fixture
def path(tmp_path):
    """A ledger with two pages, and a duplicate of the first."""
    with crawling(tmp_path / "pages.sqlite", IDENTITY) as store:
        for number in (1, 2):
            add(store, record(number))
        store.note_duplicate("http://a/3", 1, "near-duplicate", 2)
    return tmp_path / "pages.sqlite"


def restoring_at(path):
    return restoring(path, "dropped.jsonl")


def rows(path):
    with LedgerReader(path) as ledger:
        pages = [(page.record.key, page.crawl) for page in ledger.pages()]
        return pages, ledger.counts()["matches"], [crawl.spider for crawl in ledger.crawls()]


def test_a_restored_page_takes_the_place_of_what_was_stored_under_its_url(path):
    with restoring_at(path) as restoration:
        restoration.restore(to_field(record(3, "http://a/1"), MADE_WITH))
    with LedgerReader(path) as ledger:
        old, new = ledger.versions("http://a/1")
        assert (old.ended, new.is_change) == (new.stored, True)


def test_an_item_does_not_take_the_place_of_another_one_of_its_url(tmp_path):
    path = tmp_path / "items.sqlite"
    with crawling(path, {**IDENTITY, "item_field": "body"}) as store:
        add(store, record(1))
    made_with = MADE_WITH._replace(item_field="body")
    with restoring_at(path) as restoration:
        restoration.restore(to_field(record(3, "http://a/1"), made_with))
    assert rows(path)[0] == [("http://a/1", 1), ("http://a/1", 2)]


def test_records_that_are_damaged_or_of_other_settings_are_of_no_use(path):
    with restoring_at(path) as restoration:
        for values in (
            to_field(record(3), MADE_WITH._replace(scope="host")),
            to_field(record(3)._replace(sketch=b"short"), MADE_WITH),
            {"key": "http://a/"},
            None,
            "text",
        ):
            with pytest.raises(ValueError, match=r"the record is damaged|judged with another"):
                restoration.restore(values)
    assert rows(path) == ([("http://a/1", 1), ("http://a/2", 1)], 1, ["test"])


def test_ledgers_that_cannot_be_written_are_refused(path, tmp_path):
    with restoring_at(path), pytest.raises(LedgerInUseError), restoring_at(path):
        pass
    with pytest.raises(FileNotFoundError), restoring_at(tmp_path / "none"):
        pass
    assert not (tmp_path / "none").exists()
    query(path, "UPDATE about SET value = json_set(value, '$.version', 99)")
    with pytest.raises(LedgerError, match="none of scrapy-dedup"), restoring_at(path):
        pass
    query(tmp_path / "other", "CREATE TABLE t (x)")
    with pytest.raises(LedgerError, match="is not a ledger"), restoring_at(tmp_path / "other"):
        pass
