"""What is found by its URL, however it was added."""

import numpy as np

from dedup.stores.shared.url_table import UrlTable, hash_of_url

URLS = [f"https://example.com/{number % 700}" for number in range(1000)]


def found(table):
    return {url: sorted(table.pages(url)) for url in [*URLS, "https://example.com/none"]}


def one_by_one():
    table = UrlTable()
    for number, url in enumerate(URLS):
        table.add(url, number, number % 3)
    return table


def add_many(table, numbers):
    hashes = [hash_of_url(URLS[number].encode()) for number in numbers]
    numbers = np.array(numbers, np.int64)
    table.add_many(np.array(hashes, np.uint64), numbers, numbers % 3)


def test_many_are_found_as_those_that_are_added_one_by_one():
    table = UrlTable()
    for part in (range(400), range(400, 1000), range(1000, 1000)):
        add_many(table, part)
    assert found(table) == found(one_by_one())


def test_both_ways_can_be_mixed():
    table = UrlTable()
    table.add(URLS[0], 0, 0)
    add_many(table, range(1, 500))
    assert sorted(table.pages(URLS[3])) == [(3, 0)]
    for number in range(500, 1000):
        table.add(URLS[number], number, number % 3)
    assert found(table) == found(one_by_one())


def test_a_table_counts_as_something_as_soon_as_a_page_is_in_it():
    table = UrlTable()
    assert not table
    assert table.nbytes == 0
    add_many(table, [7])
    assert table
    assert table.nbytes == 16
