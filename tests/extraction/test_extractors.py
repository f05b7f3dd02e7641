import logging

import pytest
from cases import each
from own_process import run_script
from texts import PARAGRAPHS, article

from dedup.evidence import Weakness
from dedup.extraction import (
    EXTRACTORS,
    Extraction,
    language_of_text,
    resiliparse,
    text_of_fragment,
    trafilatura,
)

ARTICLE = f"""<!DOCTYPE html>
<html lang="en-GB"><head><title> The bridge
 opens again </title><style>p {{ color: red }}</style><script>var tracking = 1;</script></head>
<body>
<header><nav><ul><li><a href="/">Home</a></li><li><a href="/town">Town news</a></li>
<li><a href="/archive">Archive</a></li></ul></nav></header>
<main><article><h1>The bridge opens again</h1>
{"".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)}</article></main>
<section id="comments" class="comments"><h2>Comments</h2>
<div class="comment"><p>First! What a lovely bridge, said the troll beneath it.</p></div></section>
<footer><p>Copyright 2024 The Alderbrook Lantern. All rights reserved.</p></footer>
</body></html>"""


@pytest.fixture(params=EXTRACTORS.values(), ids=EXTRACTORS.keys())
def extract(request):
    return request.param


def test_the_main_text_is_the_article_alone(extract):
    lines = extract(ARTICLE).text.splitlines()
    assert [line for line in lines if len(line) > 60] == PARAGRAPHS
    assert not {"Home", "Archive", "troll", "Copyright", "tracking"} & set(" ".join(lines).split())


def test_title_and_declared_language_are_extracted(extract):
    extraction = extract(ARTICLE)
    assert (extraction.title, extraction.language) == ("The bridge opens again", "en")


def test_the_canonical_link_of_the_head_is_extracted_as_it_is_written(extract):
    html = ARTICLE.replace("</head>", '<link rel="canonical" href="/a?b=1&amp;c"></head>')
    assert (extract(html).canonical, extract(ARTICLE).canonical) == ("/a?b=1&c", None)


def test_a_page_without_title_has_none_and_its_text_tells_the_language(extract):
    extraction = extract(f"<html><body><p>{PARAGRAPHS[0]}</p></body></html>")
    evidence = extraction.evidence
    assert extraction == Extraction(PARAGRAPHS[0], language="en", evidence=evidence)
    assert (extraction.evidence.title, extraction.evidence.headline) == (b"", b"")


@each(
    ("markup", "language"),
    [
        ("<html lang='zh-CN'>", "zh"),
        ("<html lang=' pt_BR '>", "pt"),
        ("<html lang='gsw'>", "gsw"),
        ("<html xml:lang='de-AT'>", "de"),
        ("<html lang='' xml:lang='fr'>", "fr"),
        ("<html lang='es'><head><meta property='og:locale' content='nl_NL'></head>", "es"),
        ("<html lang='english'>", None),
        ("<html lang='x-default' xml:lang='ja'>", "ja"),
        ("<html lang='und'>", None),
        ("<html lang='{{ lang }}'>", None),
        ("<html>", None),
    ],
)
def test_the_declared_language_is_its_primary_subtag(markup, language):
    html = f"{markup}<body><p>{' '.join(PARAGRAPHS[0].split()[::2])}</p></body></html>"
    assert trafilatura(html).language == language


def test_the_declared_language_counts_more_than_the_script(extract):
    text = "镇上有十九家米粉店,没有一家做晚饭的生意。早上五点开门,卖到十点,锅一刷,门板一上。"
    assert extract(f"<html lang='ja'><body><p>{text}</p></body></html>").language == "ja"
    assert extract(f"<html><body><p>{text}</p></body></html>").language == "zh"


@each(
    ("text", "language"),
    [
        ("", None),
        ("Wir sind müde", None),
        ("我们在北京大学学习", "zh"),
        ("東京は日本の首都です", "ja"),
        ("안녕하세요 세계", "ko"),
        ("สวัสดีชาวโลก", "th"),
        ("Καλημέρα κόσμε", "el"),
        ("שלום עולם", "he"),
        ("The character 中 means middle", None),
        ("Python 和 Java 的性能比较", "zh"),
        ("—" * 2000 + "我们在北京", None),
        ("Tea grows on the hills of the south, and " * 3, "en"),
        ("Tee wächst, so steht es in The History of Tea, an Hängen " + "des Südens " * 30, None),
        ("The tea of the hills", None),
    ],
)
def test_the_text_tells_the_language_where_it_can(text, language):
    assert language_of_text(text) == language


@each("page", ["", " \n\t ", "\x00", "<html></html>", "<!-- nothing -->"])
def test_a_page_without_text_gives_an_empty_one(page, extract):
    assert extract(page).text == ""


def test_a_truncated_page_keeps_the_text_before_the_cut(extract):
    truncated = ARTICLE[: ARTICLE.index("brass band")]
    assert PARAGRAPHS[1] in extract(truncated).text


def test_nul_bytes_do_not_hide_the_text_around_them(extract):
    text = extract(f"<html><body><p>{PARAGRAPHS[0]}</p>\x00<p>{PARAGRAPHS[1]}</p></body></html>")
    assert PARAGRAPHS[0] in text.text
    assert PARAGRAPHS[1] in text.text


def test_the_text_is_the_same_each_time_the_page_is_extracted(extract):
    assert len({extract(ARTICLE) for _ in range(6)}) == 1


def test_what_the_library_logs_for_others_is_logged_before_and_after(caplog):
    loggers = [logging.getLogger(name) for name in ("trafilatura.utils", "htmldate", "trafilatura")]
    off = logging.getLogger("trafilatura.xml")
    off.disabled = True
    try:
        trafilatura("<b><p><i></b></p></i></td></html><html>")
        for logger in loggers:
            logger.error("said by %s", logger.name)
        off.error("said by nobody")
    finally:
        off.disabled = False
    assert caplog.messages == [f"said by {logger.name}" for logger in loggers]


@pytest.mark.slow
@pytest.mark.parametrize("function", ["trafilatura", "resiliparse", "text_of_fragment"])
def test_a_page_nested_5000_deep_does_no_harm(function):
    script = (
        f"from dedup.extraction import {function} as extract\n"
        "for tag in ('div', 'b', 'table', 'ul', 'blockquote'):\n"
        "    page = f'<{tag}>' * 5000 + 'depth' + f'</{tag}>' * 5000\n"
        "    extract('<html><body>' + page + '</body></html>')\n"
        f"print(extract('<html><body><p>{PARAGRAPHS[0]}</p></body></html>'))"
    )
    run = run_script(script)
    assert PARAGRAPHS[0] in run.stdout
    assert run.stderr == ""


@each(
    ("html", "text"),
    [
        ("", ""),
        (" \n ", ""),
        ("<ul><li>one<li>two</ul>", "one two"),
        ("<p>one</p><script>alert(1)</script><style>p{}</style>two", "one two"),
        ("<p>one<!-- hidden -->two</p>", "one two"),
        ("<template>no</template><noscript>no</noscript><p>yes</p>", "yes"),
        ("<p>a\x00b\x0bc</p>", "a b c"),
        ("<div><p>cut in the mid", "cut in the mid"),
        ("<p>中文 &eacute;</p>", "中文 é"),
    ],
)
def test_all_visible_text_of_a_fragment_is_its_text(html, text):
    assert " ".join(text_of_fragment(html).split()) == text


def test_resiliparse_reads_the_title_without_a_body():
    extraction = resiliparse("<html lang='fr'><title> Un \n titre </title>")
    assert extraction == Extraction("", "Un titre", "fr", evidence=extraction.evidence)


@pytest.mark.parametrize("extract", [trafilatura, resiliparse])
def test_a_page_may_describe_itself(extract):
    head = "<META Content=' What \n it says ' NAME='Description'><meta name=keywords content=a>"
    html = f"<html><head>{head}</head><body><article><p>{PARAGRAPHS[0]}</p></article></body></html>"
    assert extract(html).description == "What it says"
    assert extract(html.replace("Description", "author")).description is None


@each(
    "begin",
    [
        "",
        "<!-- a comment -->",
        "<!-- a comment -->\n<html lang='en'><body>",
        "<?xml version='1.0'?>",
    ],
)
def test_a_page_without_a_document_around_it_is_read_like_any_other(extract, begin):
    table = (
        f"<table>{''.join(f'<tr><td>{paragraph}</td></tr>' for paragraph in PARAGRAPHS)}</table>"
    )
    extracted = extract(begin + table)
    assert all(paragraph in extracted.text for paragraph in PARAGRAPHS)
    assert extracted.evidence.coverage > 0.95


def print_view(chapters: int) -> str:
    """A page whose first block is what a fast extraction takes for all of it."""
    begin = "".join(f"<p>{article(500 + n, 40)}</p>" for n in range(3))
    others = "".join(
        f"<section><h2>Chapter {number}</h2>"
        + "".join(f"<p>{article(5 * number + part, 60)}</p>" for part in range(5))
        + "</section>"
        for number in range(chapters)
    )
    return f"<html><body><div><article>{begin}</article>{others}</div></body></html>"


def test_a_page_of_which_next_to_nothing_is_extracted_is_extracted_again():
    import trafilatura as library

    html = print_view(12)
    fast = library.extract(html, fast=True, include_comments=False)
    extracted = trafilatura(html)
    assert len(extracted.text) > 10 * len(fast)
    assert fast in extracted.text
    assert extracted.evidence.coverage > 0.9
    assert article(59, 60) in extracted.text


def test_a_page_of_which_a_part_is_extracted_is_not_extracted_again():
    import trafilatura as library

    html = print_view(2)
    extracted = trafilatura(html)
    assert extracted.text == library.extract(html, fast=True, include_comments=False)
    assert 0.1 < extracted.evidence.coverage < 0.5


def test_links_are_not_extracted_again():
    """Where a tag cloud is extracted, the slow mode finds another list."""
    html = "<html><body>" + "<ul><li><a href='/'>A tag of a cloud</a></li></ul>" * 50
    assert trafilatura(html).evidence.is_list


def test_what_is_extracted_says_how_much_it_is(extract):
    comments = "".join(f"<p>{article(n)}</p>" for n in range(20))
    begin = '<section id="comments" class="comments">'
    whole, part = extract(ARTICLE), extract(ARTICLE.replace(begin, begin + comments))
    assert whole.evidence.weakness is None
    assert part.text == whole.text
    assert 0 < part.evidence.coverage < 0.1
    assert part.evidence.weakness is Weakness.LITTLE


@pytest.mark.slow
@each("depth", [300, 3000])
def test_pages_too_deep_to_be_read_whole_are_no_evidence(extract, depth):
    html = f"<html><body><p>{PARAGRAPHS[0]}</p>" + "<font>" * depth
    one, other = (extract(f"{html}<p>Report {n}</p></body></html>").evidence for n in (1, 2))
    assert one.coverage == other.coverage == 0
    assert one.view != other.view
    assert extract(f"{html}<p>Report 1</p></body></html>").evidence == one
