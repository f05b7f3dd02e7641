import random
from concurrent.futures import ThreadPoolExecutor

from report_of import exact, near, new, page

from dedup.report.texts import priority


def kept(store, urls):
    return [url for url in urls if url in store]


def test_a_copy_is_kept_beside_its_original_only(open_store):
    store = open_store(100)
    store.record(new(), "a", page("the original", "Title"))
    store.record(near("a", 1), "a2", page("the copy"))
    store.record(near("missing", 1), "b2", page("another copy"))
    store.record(exact("a"), "a3", page("the original"))
    assert store.text("a") == ("Title", "the original")
    assert store.text("a2") == (None, "the copy")
    assert kept(store, ["b2", "a3"]) == []
    assert store.text("b2") is None
    assert len(store) == 2


def test_no_more_are_kept_than_the_limit_an_even_sample_of_all(open_store):
    store, urls = open_store(20), [f"http://a/{n}" for n in range(500)]
    for url in urls:
        store.record(new(), url, page("text"))
        assert len(store) <= 20
    assert kept(store, urls) == sorted(sorted(urls, key=priority)[:20], key=urls.index)


def test_a_quarter_is_left_to_pages_without_copies_those_with_the_least_priorities(open_store):
    store, urls = open_store(8), sorted((f"a{n}" for n in range(8)), key=priority)
    for url in urls:
        store.record(new(), url, page("text"))
    for original in urls[:2]:
        for copy in range(5):
            store.record(near(original, 1), f"{original}/{copy}", page("text"))
    assert kept(store, urls) == urls[:3]
    for n in range(100):
        store.record(new(), f"http://b/{n}", page("text"))
    assert kept(store, urls[:2]) == urls[:2]
    assert len(store) == 8
    assert kept(store, [f"{url}/{n}" for url in urls for n in range(5)]) == [
        f"{urls[0]}/{copy}" for copy in range(5)
    ]


def test_a_group_does_not_fill_it_alone(open_store):
    store = open_store(100)
    store.record(new(), "a", page("text"))
    for copy in range(500):
        store.record(near("a", 1), f"a/{copy}", page("text"))
    assert len(store) == 11


def test_a_url_is_kept_once_and_may_be_anything(open_store):
    store = open_store(10)
    for url in ("", "http://a/\ud800", "x" * 10_000, "'); DROP TABLE texts; --"):
        for text in ("first", "second"):
            store.record(new(), url, page(text, "title \ud800"))
        assert store.text(url) == ("title \ud800", "first")
    assert len(store) == 4


def test_nothing_is_kept_of_pages_without_text_and_without_room_there_is_no_database(open_store):
    store = open_store(5)
    store.record(new(), "a", page(""))
    assert len(store) == 0
    store = open_store(0)
    store.record(new(), "a", page("text"))
    assert (list(store), store.text("a"), "a" in store) == ([], None, False)
    assert "_database" not in vars(store)


def test_long_texts_and_titles_are_cut(open_store):
    store = open_store(5)
    store.record(new(), "a", page("x" * 10**6, "T" * 10**6))
    assert store.text("a") == ("T" * 997 + "...", "x" * 40_000)


def record(store, *numbers):
    chooser = random.Random(0)
    for number in numbers:
        text = chooser.randbytes(4000).hex()  # no compression makes it small
        store.record(new(), f"http://a/{number}", page(f"{number} {text}", f"Title {number}"))


def assert_sound(store, urls):
    """What is there is whole, and what is not is said not to be."""
    for url in urls:
        stored = store.text(url)
        assert stored is None or stored[1].startswith(url.rpartition("/")[2])
    assert all(text.startswith(url.rpartition("/")[2]) for url, _, text in store)


def test_a_full_disk_costs_later_texts_only(caplog, open_store):
    store = open_store(1000)
    store._database.execute("PRAGMA max_page_count = 40")  # as a disk of 160 kB
    record(store, *range(100))
    urls = [f"http://a/{number}" for number in range(100)]
    kept_before = kept(store, urls)
    assert 5 < len(kept_before) < 50
    assert len(kept_before) == len(store) == len(list(store)) == 100 - store.lost
    assert kept_before == urls[: len(store)]
    assert_sound(store, urls)
    store._database.execute("PRAGMA max_page_count = 4000")
    record(store, 100)
    assert "http://a/100" not in store  # no more are kept
    [message] = [record.getMessage() for record in caplog.records]
    assert "cannot be kept (database or disk is full)" in message


def test_texts_can_be_read_in_another_thread(open_store):
    store = open_store(5)
    store.record(new(), "a", page("text"))
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: list(store)).result() == [("a", None, "text")]
