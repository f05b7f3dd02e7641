import logging
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import trafilatura
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html
from own_process import run_script

from crawler.demo import site
from dedup.extraction.own_trafilatura import CHANGES, LISTS, own_trafilatura

URL = "http://127.0.0.1:8000"
EXTRACTED = (
    "import dedup.extraction as it; it.trafilatura('<html><body><p>A page</p></body></html>')"
)


def modules(library):
    names = ("xpaths", "baseline", "utils")
    return [sys.modules[f"{library.__name__}.{name}"] for name in names]


def selectors(library):
    xpaths, baseline, _ = modules(library)
    lists = [selector for name in LISTS for selector in getattr(xpaths, name, [])]
    return [*lists, baseline.BASIC_CLEAN_XPATH]


def real_pages():
    """The pages of the demonstration, and those in the folder that DEDUP_REAL_PAGES names."""
    for page in (*site.pages(URL, URL).values(), *site.mirror_pages(URL).values()):
        if page.content_type.startswith("text/html"):
            yield page.path, page.render(1)
    if folder := os.environ.get("DEDUP_REAL_PAGES"):
        for path in sorted(Path(folder).rglob("*.htm*")):
            yield str(path), path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("fast", [True, False])
def test_texts_are_those_of_trafilatura(fast):
    own, count = own_trafilatura(), 0
    for name, page in real_pages():
        texts = [one.extract(page, fast=fast, include_comments=False) for one in (own, trafilatura)]
        assert texts[0] == texts[1], name
        count += 1
    assert count >= (2000 if "DEDUP_REAL_PAGES" in os.environ else 50)


def test_all_of_this_trafilatura_is_known():
    for place in CHANGES:
        module, _, name = place.partition(".")
        own, installed = (
            getattr(sys.modules[f"{library.__name__}.{module}"], name)
            for library in (own_trafilatura(), trafilatura)
        )
        assert own.__code__ != installed.__code__, place
    assert not any(isinstance(selector, etree.XPath) for selector in selectors(own_trafilatura()))
    assert all(isinstance(selector, etree.XPath) for selector in selectors(trafilatura))


@st.composite
def trees(draw):
    """A tree of few tags, attributes and values, so that many elements have the same ones."""
    root = html.Element("body")
    elements = [root]
    for _ in range(draw(st.integers(1, 12))):
        parent = draw(st.sampled_from(elements))
        if draw(st.integers(0, 9)) == 9:
            parent.append(html.HtmlComment("a comment"))
        element = etree.SubElement(parent, draw(st.sampled_from(TAGS)))
        for name in draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True)):
            element.set(name, draw(st.sampled_from(VALUES)))
        elements.append(element)
    return root


# Where the selectors differ, it is by attributes that mean something to them.
PATHS = " ".join(selector.path for selector in selectors(trafilatura))
TAGS = sorted({"h1", "body", *re.findall(r"(?:self::|\.//)([a-z]\w*)", PATHS)})
NAMES = sorted(set(re.findall(r"@([\w-]+)", PATHS)))
TOKENS = {token for literal in re.findall("'([^']*)'", PATHS) for token in literal.split("|")}
WORDS = sorted(token for raw in TOKENS if (token := re.sub(r"\(.*\)|[^\w -]", "", raw)))
VALUES = [*WORDS, *map(str.upper, WORDS), *map(" {} ".format, WORDS), "", "other"]


@pytest.mark.slow
@given(trees())
def test_selectors_find_the_elements_that_those_of_trafilatura_find(tree):
    for own, xpath in zip(selectors(own_trafilatura()), selectors(trafilatura), strict=True):
        assert own(tree) == xpath(tree), xpath.path


@pytest.mark.slow
@given(st.lists(trees(), min_size=1, max_size=3))
def test_texts_of_any_trees_are_those_of_trafilatura(parts):
    for number, element in enumerate(element for part in parts for element in part.iter("*")):
        element.text = f"Sentence {number} is as long as a paragraph of a real page is, or nearly."
    page = "<html>" + "".join(html.tostring(part, encoding="unicode") for part in parts) + "</html>"
    own, others = (
        library.extract(page, fast=True, include_comments=False)
        for library in (own_trafilatura(), trafilatura)
    )
    assert own == others


def test_nobody_else_ever_has_the_selectors_and_classes_of_our_copy():
    form = trafilatura.load_html("<html><body><form></form><p></p></body></html>").find(".//form")
    before, seen = [*selectors(trafilatura), type(form)], set()

    def look(*event):
        seen.add([*selectors(trafilatura), type(html.fromstring("<form></form>"))] == before)

    sys.setprofile(look)
    try:
        own_trafilatura().extract("<html><body><article><p>A page</p></article></body></html>")
        with pytest.raises(TypeError):
            own_trafilatura().load_html(object())
    finally:
        sys.setprofile(None)
    assert seen == {True}


@pytest.mark.slow
def test_trafilatura_may_be_imported_after_our_copy():
    script = f"{EXTRACTED}; import trafilatura as t; print(type(t.xpaths.BODY_XPATH[0]).__name__)"
    assert run_script(script).stdout == "XPath\n"


@pytest.mark.slow
def test_what_a_release_has_changed_stays_its_own_and_is_logged(tmp_path):
    changed = tmp_path / "trafilatura"
    shutil.copytree(Path(trafilatura.__file__).parent, changed)
    with (changed / "xpaths.py").open("a", encoding="utf-8") as file:
        file.write("OVERALL_DISCARD_XPATH[1] = XPath('.//p[last()]')\n")
    with (changed / "core.py").open("a", encoding="utf-8") as file:
        file.write(
            "_before = _prepare_tree\ndef _prepare_tree(*given):\n    return _before(*given)\n"
        )
    script = (
        f"import logging; logging.basicConfig(format='%(message)s')\n{EXTRACTED}\n"
        f"{EXTRACTED}\n"
        "from dedup.extraction.own_trafilatura import own_trafilatura\n"
        "print(*(type(one).__name__ for one in own_trafilatura().xpaths.OVERALL_DISCARD_XPATH))"
    )
    run = run_script(script, env={"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])})
    assert run.stdout == "partial XPath\n"
    assert run.stderr == (
        "reading pages takes longer than it could: trafilatura 2.3.1 has code in "
        "OVERALL_DISCARD_XPATH, _prepare_tree that dedup leaves as it is, since it does not know "
        "its form\n"
    ).replace("2.3.1", trafilatura.__version__)


def test_what_is_wrong_with_a_page_is_not_logged(caplog):
    caplog.set_level(logging.DEBUG)
    assert own_trafilatura().extract("<html", fast=True) is None
    assert caplog.records == []
