"""Trees of HTML elements for tests with Hypothesis."""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from lxml import etree, html


@st.composite
def trees(
    draw: Callable[[st.SearchStrategy], object],
    tags: Sequence[str],
    names: Sequence[str],
    values: Sequence[str],
) -> html.HtmlElement:
    """A tree of few tags, attributes and values, so that many elements have the same ones."""
    root = html.Element("body")
    elements = [root]
    for _ in range(draw(st.integers(1, 12))):
        parent = draw(st.sampled_from(elements))
        if draw(st.integers(0, 9)) == 9:
            parent.append(html.HtmlComment("a comment"))
        element = etree.SubElement(parent, draw(st.sampled_from(tags)))
        for name in draw(st.lists(st.sampled_from(names), max_size=4, unique=True)):
            element.set(name, draw(st.sampled_from(values)))
        elements.append(element)
    return root
