import pytest
from cases import each
from lxml import etree, html

from dedup.extraction.selectors import UnknownSelectorError, compiled


def xpath_of(selector):
    return etree.XPath(selector, namespaces={"re": "http://exslt.org/regular-expressions"})


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
