import pytest
from cases import each, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree, html
from trees import trees

from dedup.extraction.selectors import UnknownSelectorError, compiled

TAGS = ["div", "p", "section", "article", "h1"]
NAMES = ["id", "class", "role"]
WORDS = ["a", "B", "ab", "a b", "", "-a"]

attributes = st.sampled_from(NAMES).map("@{}".format)
several = st.lists(attributes, min_size=2, max_size=3, unique=True).map("|".join)
values = attributes | several | attributes.map("translate({}, 'aB', 'Ab')".format)
words = st.sampled_from(WORDS).map(repr)
patterns = st.sampled_from(["^a", "b$", "a b|B", "", "(?:^| )a"]).map(repr)
of_attributes = (
    attributes
    | st.builds("re:test({}, {})".format, several, patterns)
    | st.builds("{}={}".format, attributes, words)
    | st.builds("contains({}, {})".format, values, words)
    | st.builds("starts-with({}, {})".format, values, words)
    | st.builds("re:test({}, {})".format, values, patterns)
    | st.builds("re:test({}, {}, 'i')".format, values, patterns)
)
of_elements = st.sampled_from(["self::div", "self::p", ".//h1", "not(self::div or self::p)"])


def joined(separator, parts):
    return st.lists(parts, min_size=1, max_size=3).map(separator.join)


predicates = joined(" or ", of_attributes | of_elements) | joined(" and ", of_attributes)
paths = st.builds(
    ".//{}{}{}".format,
    st.sampled_from(["*", *TAGS]),
    st.lists(predicates.map("[{}]".format), max_size=2).map("".join),
    st.sampled_from(["", "", "[1]"]),
)
firsts = paths.map("({})[1]".format)
xpaths = joined(" | ", paths | firsts)


def xpath_of(selector):
    return etree.XPath(selector, namespaces={"re": "http://exslt.org/regular-expressions"})


@pytest.mark.slow
@settings(max_examples=examples(500))
@given(xpaths, st.lists(trees(TAGS, NAMES, WORDS), min_size=1, max_size=3))
def test_a_compiled_selector_finds_what_xpath_finds(selector, pages):
    find, expected = compiled(selector), xpath_of(selector)
    for page in pages:
        assert find(page) == expected(page)


PAGE = """
<div id="a" class="b"><p class="b" id="a">1</p><section><p id="a b">2</p>
<p class="A">3</p></section><p>4</p><article class="a"><h1>5</h1></article></div>
<p id="a" class="b"></p>
<div class="b" id="a">"""


@each(
    "selector",
    [
        ".//*[re:test(@id|@class, 'a')]",  # the first attribute counts, in either order
        ".//*[1][self::p]",
        ".//*[self::p][1]",
        ".//*[not(.//h1) or re:test(@class, 'a')]",
        ".//*[contains(translate(@class, 'aAa', 'xac'), 'x')]",
        ".//*[@id and translate(@id, 'ab', 'a')='a']",
    ],
)
def test_a_selector_means_what_it_means_in_xpath(selector):
    page = html.fromstring(PAGE)
    assert compiled(selector)(page) == xpath_of(selector)(page)


@each(
    "selector",
    [
        "",
        "(.//p)[2]",
        ".//p[@id",
        ".//p|",
        ".//p[@id='a' @class]",
        ".//p[last()]",
        ".//p[@id='a'] or .//a",
        ".//p[ancestor::div]",
        ".//p[contains(., 'a')]",
    ],
)
def test_a_selector_of_another_form_is_not_compiled(selector):
    with pytest.raises(UnknownSelectorError):
        compiled(selector)
