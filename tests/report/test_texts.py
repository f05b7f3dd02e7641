from report_of import exact, near, new, page

from dedup.report import TextStore
from dedup.report.sample import priority


def kept(store, urls):
    return [url for url in urls if url in store]


def test_a_copy_is_kept_beside_its_original_only():
    store = TextStore(100)
    store.record(new(), "a", page("the original", "Title"))
    store.record(near("a", 1), "a2", page("the copy"))
    store.record(near("missing", 1), "b2", page("another copy"))
    store.record(exact("a"), "a3", page("the original"))
    assert (store.get("a"), store.get("a2")) == ("the original", "the copy")
    assert (store.title("a"), store.title("a2")) == ("Title", None)
    assert kept(store, ["b2", "a3"]) == []
    assert store.get("b2") is store.title("b2") is None
    assert len(store) == 2


def test_no_more_are_kept_than_the_limit_an_even_sample_of_all():
    store, urls = TextStore(20), [f"http://a/{n}" for n in range(500)]
    for url in urls:
        store.record(new(), url, page("text"))
        assert len(store) <= 20
    assert kept(store, urls) == sorted(sorted(urls, key=priority)[:20], key=urls.index)


def test_originals_with_copies_stay_when_there_is_no_room():
    store, urls = TextStore(20), [f"http://a/{n}" for n in range(20)]
    for url in urls:
        store.record(new(), url, page("text"))
    last = max(urls, key=priority)
    store.record(near(last, 1), "copy", page("text"))
    for n in range(500):
        store.record(new(), f"http://b/{n}", page("text"))
    assert kept(store, [last, "copy"]) == [last, "copy"]
    assert len(store) == 20


def test_copies_leave_room_for_pages_without():
    store = TextStore(40)
    for n in range(40):
        store.record(new(), f"a{n}", page("text"))
    for copy in range(50):
        for n in range(40):
            store.record(near(f"a{n}", 1), f"a{n}/{copy}", page("text"))
    copies = [f"a{n}/{copy}" for n in range(40) for copy in range(50)]
    originals = {url.partition("/")[0] for url in kept(store, copies)}
    assert len(store) == 40
    assert len(kept(store, copies)) >= 10
    assert all(original in store for original in originals)
    assert len([n for n in range(40) if f"a{n}" in store and f"a{n}" not in originals]) >= 10


def test_a_quarter_is_left_to_pages_without_copies_those_with_the_least_priorities():
    store, urls = TextStore(8), sorted((f"a{n}" for n in range(8)), key=priority)
    for url in urls:
        store.record(new(), url, page("text"))
    for original in urls[:2]:
        for copy in range(5):
            store.record(near(original, 1), f"{original}/{copy}", page("text"))
    assert kept(store, urls) == urls[:4]
    assert kept(store, [f"{url}/{n}" for url in urls for n in range(5)]) == [
        f"{urls[0]}/0", f"{urls[0]}/1", f"{urls[0]}/2", f"{urls[1]}/0",
    ]  # fmt: skip


def test_a_group_does_not_fill_it_alone():
    store = TextStore(100)
    store.record(new(), "a", page("text"))
    for copy in range(500):
        store.record(near("a", 1), f"a/{copy}", page("text"))
    assert len(store) == 21
    store = TextStore(20)
    store.record(new(), "a", page("text"))
    for copy in range(500):
        store.record(near("a", 1), f"a/{copy}", page("text"))
    assert len(store) == 10  # half of the room


def test_pages_without_copies_go_by_their_priorities_whatever_becomes_an_original():
    store, urls = TextStore(400), [f"a{n}" for n in range(400)]
    for url in urls:
        store.record(new(), url, page("text"))
    by_priority = sorted(urls, key=priority)
    originals = by_priority[:150:3]
    for copy in range(3):
        for original in originals:
            store.record(near(original, 1), f"{original}/{copy}", page("text"))
    others = [url for url in by_priority if url not in originals]
    assert kept(store, others) == others[:200]


def test_a_url_is_kept_once_and_may_be_anything():
    store = TextStore(10)
    for url in ("", "http://a/\ud800", "x" * 10_000, "'); DROP TABLE texts; --"):
        for text in ("first", "second"):
            store.record(new(), url, page(text, "title \ud800"))
        assert store.get(url) == "first"
        assert store.title(url) == "title \ud800"
    assert len(store) == 4


def test_nothing_is_kept_of_pages_without_text_or_without_room():
    store = TextStore(0)
    store.record(new(), "a", page("text"))
    assert len(store) == 0
    store = TextStore(5)
    store.record(new(), "a", page(""))
    assert len(store) == 0


def test_long_texts_are_cut():
    store = TextStore(5)
    store.record(new(), "a", page("x" * 10**6))
    assert len(store.get("a")) == 40_000
