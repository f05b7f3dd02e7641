"""Words of texts that come from elsewhere than the page."""

from cases import each

from dedup.scrapy_plugin.page_words import PageWords

PAGE = (
    '<title>Lamps &amp; more</title><p>The <b class="x">L</b>amp of <i>the</i> house</p>'
    '<p>costs&nbsp;1.250,00<a href="/l" title="Our lamp">lamp</a></p>'
)


@each(
    ("text", "others"),
    [
        ("the lamp of the house costs 1.250,00", []),
        ("the house of the lamp", []),
        ("lamps, more: lamp", []),
        ("the the the", ["the"]),
        ("desk: the lamp of desk", ["desk", "desk"]),
        ("our l amp", []),
        ("", []),
    ],
)
def test_words_count_as_often_as_the_page_does_not_have_them(text: str, others: list[str]):
    words = PageWords(PAGE)
    assert [words.others(text) for _ in range(2)] == [others, others]


def test_no_page_has_no_words():
    assert PageWords("").others("a lamp") == ["a", "lamp"]
