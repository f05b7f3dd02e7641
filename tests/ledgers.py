"""Records, and ledgers by hand, without a crawl: the verbs of a store, one after the other."""

import sqlite3
from contextlib import closing, contextmanager

from dedup.methods import SimHash
from dedup.page import PageReader
from dedup.record import Claimed, Committed, PageRecord, Stored, StoredBatch, pack_items
from dedup.record_field import MadeWith, to_field
from dedup.stores import SqliteStore, finished


def record(number, url=None, scope="", tokens=100):
    """The record of a page whose content is *number*."""
    digest = number.to_bytes(16, "little")
    return PageRecord(url or f"http://a/{number}", scope, tokens, digest, bytes(8))


def page(content, key="a", scope="", tokens=100, item=b""):
    """The record of a page whose text and fingerprint of simhash are *content*."""
    digest = content.to_bytes(16, "little")
    return PageRecord(key, scope, tokens, digest, SimHash().to_bytes(content), item=item)


def records_of(texts, method):
    """The records of pages with these main texts."""
    return [page.record for page in PageReader(None, method).read_texts(texts)]


OTHERS = {"extractor": "trafilatura", "item_field": None, "scope": "crawl"}
"""What records of pages are made with besides a method, if nothing else is said."""


def field_of(text, key="http://a/", scope="", method=None, item=b"", **others):
    """What a crawl writes of a page with a main text into the field for records."""
    method = method or SimHash()
    [made] = records_of([text], method)
    record = made.under(key, scope)._replace(item=item)
    return to_field(record, MadeWith.of(method, {**OTHERS, **others}))


def joined(path, identity, **options):
    store = SqliteStore(path, identity, **options)
    finished(store.join("test"))
    return store


@contextmanager
def crawling(path, identity, reason="finished", **options):
    """The store of a crawl that publishes all at its end, and leaves for a *reason*, if any."""
    with closing(joined(path, identity, **options)) as store:
        yield store
        publish(store)
        if reason:
            leave(store, reason)


def claim(store, page):
    [claimed] = finished(store.exchange([Claimed(page)], None))
    return claimed


def add(store, page, replaces=(), items=None):
    """Have *page* stored, but not published; return its number."""
    claimed = claim(store, page)
    store.commit(claimed, Committed(claimed.number, items, tuple(replaces)))
    return claimed.number


def commits_of(claims):
    """How a request tells commits: of *claims* as those are named, or of what is told already."""
    return [
        (claim[1], Committed(claim[0])) if isinstance(claim[1], int) else claim for claim in claims
    ]


def publish(store):
    with store.publishing() as news:
        finished(store.exchange([], news))


def query(path, sql, *arguments):
    """What the file of a ledger answers, which nobody has open, or how it is changed."""
    with closing(sqlite3.connect(path)) as file, file:
        return file.execute(sql, arguments).fetchall()


def leave(store, reason="finished", report=None, texts=()):
    finished(store.leave(reason, report, texts))


def url(store, number):
    return finished(store.pages([number]))[number].key


def earlier(store, key):
    """Number, digest and sketch of what earlier crawls stored of *key*."""
    stored = finished(store.earlier(key))
    return [(number, page.digest, page.sketch) for number, page, _ in stored]


def pieces(store):
    """All that is stored, in pieces."""

    async def read():
        return [piece async for piece in store.stored()]

    return finished(read())


def numbers(store):
    return [page.number for batch in pieces(store) for page in batch.pages]


def batch_of(pages, replaced=()):
    """What a store yields of *pages*, number -> record, each with the item of its record."""
    stored = [Stored(number, page, pack_items([page.item])) for number, page in pages.items()]
    return StoredBatch(stored, replaced)
