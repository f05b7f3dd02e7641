"""Which URLs of a crawl have the same content, and advice from that."""

from time import process_time

import pytest
from texts import article

from dedup.methods import METHODS, SimHash
from dedup.page import PageReader
from dedup.url_advice import Content, Contents


def advised(contents):
    return {a.name: a for a in contents.advice().advice}


def two_folders(*pairs, method=None):
    """Contents of which each is in both folders, and one more of its own in the other one."""
    contents = Contents(method or SimHash())
    for number, (one, other) in enumerate(pairs):
        contents.add(f"http://a/one/{number}", one)
        contents.add(f"http://a/two/{number}", other)
    return contents


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (Content("x"), Content("x"), True),
        (Content("x"), Content("y"), False),
        (Content("x", "scope"), Content("x"), False),
        (Content("x", "", 0b111), Content("y", "", 0), True),
        (Content("x", "", 0b1111), Content("y", "", 0), False),
        (Content("x", "scope", 0), Content("y", "", 0), False),
        (Content("x"), Content("y", "", 0), False),
        (None, None, False),
        (Content("x"), None, False),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_two_contents_are_the_same_or_not(one, other, is_same, order):
    def numbered(content, number):
        if content is None:
            return None
        sketch = None if content.sketch is None else (content.sketch | number << 8).to_bytes(8)
        return content._replace(text=(content.text, number), sketch=sketch)

    pairs = [[numbered(c, n) for c in (one, other)[::order]] for n in range(3, 48, 5)]
    assert ("/one/" in advised(two_folders(*pairs))) is is_same


def test_a_content_is_not_the_same_as_a_part_of_it():
    method = METHODS["containment"]()
    reader = PageReader(lambda html: html, method)
    parts = [article(n) for n in range(6)]
    sketched = [
        [Content(text, "", reader.read_html(text).record.sketch) for text in (part, part + rest)]
        for part, rest in zip(parts, parts[::-1], strict=True)
    ]
    for pairs in (sketched, [pair[::-1] for pair in sketched]):
        assert "/one/" not in advised(two_folders(*pairs, method=method))


@pytest.mark.parametrize("name", METHODS)
def test_sketches_of_every_method_are_compared(name):
    method = METHODS[name]()
    reader = PageReader(lambda html: html, method)
    texts = [article(n) for n in range(6)]
    pages = [reader.read_html(text) for text in texts]
    if any(page.record.sketch is None for page in pages):
        pytest.skip("the method says nothing of these texts")

    def content(number, sketch):
        return Content(number, "", sketch)

    same = [
        (content(n, p.record.sketch), content(-1 - n, p.record.sketch)) for n, p in enumerate(pages)
    ]
    assert advised(two_folders(*same, method=method))["/one/"].agreed == 6
    others = [
        (content(n, p.record.sketch), content(-1 - n, pages[n - 1].record.sketch))
        for n, p in enumerate(pages)
    ]
    assert advised(two_folders(*others, method=method)) == {}


def test_a_url_of_several_contents_is_like_no_other():
    contents = two_folders(*[(Content(n), Content(n)) for n in range(6)])
    contents.add("http://a/one/0", Content(0))
    assert advised(contents)["/one/"].agreed == 6
    for content in (Content("what it is"), Content(0)):
        contents.add("http://a/one/0", content)
        assert not advised(contents)


def test_further_urls_are_not_remembered(monkeypatch):
    monkeypatch.setattr("dedup.url_advice.contents.MOST_URLS", 12)
    contents = Contents()
    for number in range(9):
        contents.add(f"http://a/{number}", Content(number))
        contents.add(f"http://a/{number}?ref=home", Content(number))
    assert contents.advice().pages == 12
    assert advised(contents)["ref"].agreed == 6


def test_further_urls_cost_little_even_if_none_has_a_host(monkeypatch):
    monkeypatch.setattr("dedup.url_advice.contents.MOST_URLS", 10_000)
    contents = Contents()
    start = process_time()
    for number in range(11_000):
        contents.add(f"file:///{number}", Content(number))
    assert process_time() - start < 2
