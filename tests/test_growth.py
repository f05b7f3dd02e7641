"""No text may take time by its square: hostile pages, fields and addresses are as long as allowed.

Times are of this process's CPU, and a growth is asked for only where there is time to measure.
"""

import ast
import contextlib
import importlib
import json
import pkgutil
import re
import string
from importlib.util import find_spec
from pathlib import Path
from random import Random
from time import process_time

import pytest
import regex
from cases import each
from syntax import nodes_of

import crawler
import dedup
from dedup.diff import word_diff
from dedup.extraction import language_of_text, text_of_fragment, trafilatura
from dedup.item_values import _parts_of
from dedup.methods import METHODS
from dedup.page import _outside_markup, extracted_of
from dedup.preference import CRITERIA, Copy, Preference
from dedup.records.base import decode_html, timestamp
from dedup.report.events import url_pattern
from dedup.scopes import domain, host
from dedup.text import Document, printable, without_surrogates
from dedup.url_advice.urls import Url, in_any_folder, parts_of, without

PACKAGES = (dedup, crawler)
SAMPLES = [
    *string.punctuation, *"aZ09 \n", *"中一あé\u0301ก٣İ\u200b。\ufffd\ud800",
    *("<!--", "-->", "<script>", "</script", "<style ", "</p>", "<br", "<?xml", "<a ", "&#", "&#9"),
    *("v1.", "1.", "a.", "a-", ";a=", "1a", " a", ". ", "a ", "1/", "\u0301\uff9e", "\u0301\u0316"),
]  # fmt: skip


def seconds(function, text):
    start = process_time()
    function(text)
    return process_time() - start


def is_linear(function, unit, *, size, before="", after="", enough=0.02):
    """Whether *function* takes little for *size* characters, or a text of 4 times them 4 times it.

    By the square it would be 16 times. What else the machine does can only make it look slower, so
    the least of several runs counts.
    """

    def text(length, run):
        return before + unit * (length // len(unit) + run) + after  # never twice: of caches

    least, most = float("inf"), float("inf")
    for run in range(3):
        least = min(least, seconds(function, text(size, run)))
        if least < enough:
            return True
        most = min(most, seconds(function, text(4 * size, run)))
        if most < 8 * least:
            return True
    return False


def modules():
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.startswith("dedup.spark") and not find_spec("pyspark"):
                continue
            if not module.name.endswith("__main__"):
                yield importlib.import_module(module.name)


def expressions():
    """All compiled expressions in the modules, by their names."""
    found = {}
    for module in modules():
        for name, value in vars(module).items():
            for key, one in value.items() if isinstance(value, dict) else [("", value)]:
                if isinstance(one, re.Pattern | regex.Pattern):
                    found.setdefault(one, f"{module.__name__}.{name}{key and f'[{key}]'}")
    return {name: pattern for pattern, name in found.items()}


def slow_texts(expression):
    """Texts, as what comes before, again and again, and after, in which it takes too long."""
    own = re.findall(r"[A-Za-z0-9<!/-]{2,20}|[\ufdd0-\ufdd5]", expression.pattern)

    def find_all(text):
        for _ in expression.finditer(text):
            pass

    return [
        (before, unit, after)
        for unit in dict.fromkeys([*SAMPLES, *own, *(f"<{word} " for word in own)])
        for before, after in (("", ""), ("a<", "\0"))
        if not is_linear(find_all, unit, size=8_000, before=before, after=after)
    ]


@pytest.mark.alone
@pytest.mark.slow
def test_every_expression_takes_time_by_the_length_of_the_text():
    all_expressions = expressions()
    assert len(all_expressions) > 50
    slow = {name: slow_texts(expression) for name, expression in all_expressions.items()}
    assert {name: texts for name, texts in slow.items() if texts} == {}


def test_a_quadratic_expression_is_found():
    assert not is_linear(regex.compile("<!--.*?-->").findall, "<!--", size=4_000, enough=0)


@pytest.mark.slow
def test_expressions_are_compiled_where_they_are_found():
    compiling = {"compile", "escape"}
    elsewhere = {
        f"{file.name}:{call.lineno}"
        for package in PACKAGES
        for file in Path(package.__path__[0]).rglob("*.py")
        for call in nodes_of(file)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in ("re", "regex")
        and call.func.attr not in compiling
    }
    assert elsewhere == set()


def read_field(value):
    extracted_of(value, trafilatura)


def of_url(url):
    url_pattern(url)
    Preference(CRITERIA.items()).rank(Copy(url, url))
    host(url)
    domain(url)
    if parsed := Url.parse(url):
        list(in_any_folder(parsed))
        if parsed.number_of_parts <= 20:  # as advice has it
            [without(parsed, part) for part in parts_of(parsed)]


def read_date(value):
    with contextlib.suppress(ValueError):
        timestamp(value, "date")


FUNCTIONS = {
    "a field": (read_field, "<p>x</p>"),
    "a fragment": (lambda html: text_of_fragment(without_surrogates(html)), ""),
    "text outside of markup": (lambda html: list(_outside_markup(html)), ""),
    "tokens": (lambda text: Document.from_main_text(text).tokens, ""),
    "paragraphs": (lambda text: Document.from_main_text(text).paragraphs, ""),
    "the language of a script": (language_of_text, ""),
    "what is printed": (lambda text: printable(text), ""),
    "words that differ": (lambda text: list(word_diff(text, text[::-1])), "a"),
    "decoding": (lambda text: decode_html(text.encode("utf-8", "replace")), "<meta "),
    "a URL's path": (of_url, "http://a.org/"),
    "a URL's host": (of_url, "http://"),
    "a URL's parameters": (of_url, "http://a.org/?"),
    "a date": (read_date, ""),
}


def slow_units(function, units, before=""):
    return [
        unit
        for unit in units
        if not is_linear(function, unit, size=20_000, before=before, enough=0.1)
    ]


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_reads_texts_takes_time_by_their_length(name):
    function, before = FUNCTIONS[name]
    assert slow_units(function, SAMPLES, before) == []


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_time_by_the_length_of_the_text(name):
    method = METHODS[name]()
    units = "a|a |1 |the a |中|喜|あ|. |a. |北京大学|的|\n|a\n".split("|")
    assert slow_units(lambda text: method.sketch(Document.from_main_text(text)), units) == []


@pytest.mark.alone
@pytest.mark.slow
def test_the_html_of_an_item_takes_time_by_its_length():
    assert is_linear(_parts_of, "<i a>b</i>", size=40_000)


def test_a_number_in_a_url_may_be_longer_than_python_reads():
    of_url(f"http://a.org/{'1' * 5000}/?a={'1' * 5000}")


@each("number", ["9" * 5000, "x" + "f" * 5000, "1", "0", "xFFFF", "xD800"])
def test_a_field_may_have_character_references_that_are_no_characters(number):
    text = "Goats can open a latch, so the gate has two."
    extraction = extracted_of(f"<p>{text} &#{number}; And a chain.</p>", trafilatura)
    assert extraction.text.split()[:5] == text.split()[:5]
    assert extraction.text.split()[-3:] == ["And", "a", "chain."]
    json.dumps(extraction.text).encode()


def test_text_outside_of_markup_is_what_an_expression_leaves():
    markup = regex.compile(
        r"<!--.*?-->|<(script|style|noscript|template)\b.*?</\1\s*>|<[^<>]*>",
        regex.IGNORECASE | regex.DOTALL,
    )
    random = Random(1)
    parts = ["<!--", "-->", "<script>", "</SCRIPT >", "<style", "</style>", "<", ">", "a", " ", "-"]
    for _ in range(3000):
        html = "".join(random.choices(parts, k=random.randint(0, 12)))
        assert "".join(_outside_markup(html)) == markup.sub("", html), html
