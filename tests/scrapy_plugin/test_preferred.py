"""A copy whose URL is better than that of the page that is stored is counted, and marked so."""

import pytest
from crawls import known_site
from texts import article, page

TEXT = article(1)
PRINT, CLEAN, TRACKED = "/tea;jsessionid=1", "/tea", "/tea?utm_source=x"


@pytest.fixture
def site(tmp_path):
    with known_site(dict.fromkeys((PRINT, CLEAN, TRACKED), page(TEXT)), tmp_path) as site:
        yield site


def run(site, *paths, **settings):
    """A crawl over *paths*, one after the other, without a ledger."""
    settings = {"DEDUP_PREFER": ["canonical", "clean-url"], "DEDUP_INDEX": "", **settings}
    result = site.crawl(*paths, **settings)
    assert "dedup/errors" not in result.stats
    return result


def marks_of(result, name):
    return [item["dedup"][name] for item in result.items]


def test_the_mark_of_a_duplicate_names_the_better_url(site):
    result = run(site, PRINT, CLEAN, TRACKED, DEDUP_ACTION="mark")
    assert marks_of(result, "original") == [None, site.url + PRINT, site.url + PRINT]
    assert marks_of(result, "preferred") == [None, site.url + CLEAN, None]
    assert result.stats["dedup/preferred"] == 1


def test_without_the_setting_cleaner_urls_are_named_too(site):
    result = run(site, PRINT, CLEAN, DEDUP_ACTION="mark", DEDUP_PREFER=[])
    assert marks_of(result, "preferred") == [None, site.url + CLEAN]
    [told] = [line for line in result.table.splitlines() if "cleaner" in line]
    assert told.endswith('Try DEDUP_PREFER = ["clean-url"]')
    result = run(site, CLEAN, PRINT, DEDUP_ACTION="mark", DEDUP_PREFER=[])
    assert marks_of(result, "preferred") == [None, None]
    assert "dedup/preferred" not in result.stats


def test_later_crawls_go_on_with_the_page_that_is_stored(site):
    ledger = {"DEDUP_INDEX": site.ledger}
    assert run(site, PRINT, CLEAN, **ledger).stored == [PRINT]
    result = run(site, CLEAN, PRINT, **ledger)
    kinds = "unchanged", "exact_duplicates"
    assert (result.stored, *(result.stats[f"dedup/{kind}"] for kind in kinds)) == ([], 1, 1)
    site.pages[PRINT] = site.pages[CLEAN] = page(article(2))
    assert run(site, CLEAN, PRINT, **ledger).stored == [CLEAN]
