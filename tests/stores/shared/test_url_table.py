"""What is found by its URL, however many there are."""

import pytest

from dedup.stores.shared import known_pages
from dedup.stores.shared.known_pages import UrlTable

URLS = [f"https://example.com/{number % 700}" for number in range(1000)]


@pytest.mark.parametrize("most_unsorted", [0, 1, 99, 10_000])
def test_all_pages_of_a_url_are_found_however_many_are_sorted_in(monkeypatch, most_unsorted):
    monkeypatch.setattr(known_pages, "_MOST_UNSORTED", most_unsorted)
    table = UrlTable()
    for number, url in enumerate(URLS):
        table.add([(url, number, number % 3)])
    found = {url: sorted(table.pages(url)) for url in [*URLS, "https://example.com/none"]}
    assert found == {
        url: [(n, n % 3) for n, other in enumerate(URLS) if other == url] for url in found
    }
