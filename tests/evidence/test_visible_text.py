import time

import pytest
import trafilatura
from cases import each
from own_process import outputs_by_seed
from texts import PARAGRAPHS

from dedup.evidence import (
    SIZE_OF_EVIDENCE,
    Evidence,
    VisibleText,
    Weakness,
    digest_of_name,
    segments_of,
)  # fmt: skip

ARTICLE = "".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)
TEXT = "\n".join(PARAGRAPHS)
TAGS = "alder birch cedar elm fir hazel larch maple oak pine rowan willow".split()
CLOUD = "".join(f'<a href="/tag/{tag}">{tag}</a> ' for tag in TAGS)
NAV = '<nav><a href="/">Home</a> <a href="/town">Town news</a></nav>'
FOOTER = "<footer>Copyright 2024 The Alderbrook Lantern. All rights reserved.</footer>"


def read(body, text, title=None, head=""):
    tree = trafilatura.load_html(f"<html><head>{head}</head><body>{body}</body></html>")
    return VisibleText(tree).evidence(text, title)


@each(
    ("body", "text", "coverage"),
    [
        (f"{NAV}<h1>The bridge</h1>{ARTICLE}{FOOTER}", f"The bridge\n{TEXT}", 1),
        # Links beside an article, or in it, do not count.
        (f"<div>{CLOUD}</div>{ARTICLE}", TEXT, 1),
        (ARTICLE.replace("stone bridge", '<a href="/bridge">stone bridge</a>'), TEXT, 1),
        # A list of links that was extracted whole is the page.
        (f"{NAV}<h1>Index</h1><ul>{CLOUD}</ul>{FOOTER}", "Index\n" + "\n".join(TAGS), 1),
        # A menu, or a box of recent posts, says nothing of an article.
        (f"<div>{CLOUD}</div>{ARTICLE}", "\n".join(TAGS), 0),
        (f"{ARTICLE}<ul>{'<li><a href=/>A post</a></li>' * 5}</ul>", "- A post\n" * 5, 0),
        # As of JSON in a script, which extraction falls back on.
        ("<p>Subscribe to read on</p>", TEXT, 0),
        # As of a main text in another order than that of the page.
        (ARTICLE, "\n".join(reversed(PARAGRAPHS)), 1),
        ("<p>The year ２０２４ was wet.</p>", "The year ２０２４ was wet.", 1),
        # Extraction changes blanks and punctuation.
        (
            "<ul><li>The mayor&nbsp;cut no\u3000rib&shy;bon</li></ul><table><tr><td>a<td>b</table>",
            "- The mayor cut no ribbon\na | b |",
            1,
        ),
        (
            "<p>木兰辞描写了一位女子代父从军的故事。</p><p>诗中没有战场。</p>",
            "诗中没有战场。",
            7 / 25,
        ),
        # Pages without text of their own.
        *(
            (body, "", 1)
            for body in ("", "<script>1</script>", f"<nav>{CLOUD}</nav>", "<p> - </p>")
        ),
    ],
)
def test_coverage_is_how_much_of_the_pages_own_text_was_extracted(body, text, coverage):
    assert read(body, text).coverage == pytest.approx(coverage)


def test_a_tag_cloud_says_little_of_an_archive():
    """The titles are links, too, so only these tell that the cloud is not the page."""
    posts = "".join(f'<h2><a href="/{n}">{p}</a></h2>' for n, p in enumerate(PARAGRAPHS))
    evidence = read(f"{posts}<div>{CLOUD}</div>", " ".join(TAGS))
    assert evidence.coverage < 0.2


def test_a_menu_that_was_extracted_with_all_of_a_short_page_says_little_of_it():
    """As of a book with a long table of contents and pages of one line."""
    evidence = read(f"<nav>{CLOUD * 20}</nav><p>{PARAGRAPHS[0]}</p>", " ".join(TAGS * 20) + TEXT)
    assert evidence.coverage < 0.2
    assert evidence.weakness is Weakness.LINKS


@each(
    ("chrome", "is_chrome"),
    [
        ("<nav>{}</nav>", True),
        ("<header>{}</header>", True),
        ("<footer>{}</footer>", True),
        ("<aside>{}</aside>", True),
        ("<select><option>{}</option></select>", True),
        ("<div role='navigation'>{}</div>", True),
        ("<ul role='complementary'><li>{}</li></ul>", True),
        ("<div class='jp-relatedposts'>{}</div>", True),
        ("<article><section class='Related'>{}</section></article>", True),
        ("<div class='post'>{}</div>", False),
        ("<script>{}</script>", True),
        ("<div hidden>{}</div>", True),
        ("<article><header>{}</header></article>", False),
        ("<main><footer>{}</footer></main>", False),
        ("<div role='main'>{}</div>", False),
        ("<div>{}</div>", False),
    ],
)
def test_what_chrome_is(chrome, is_chrome):
    words = "words that stand beside the article"
    with_chrome, without = (read(body + ARTICLE, TEXT) for body in (chrome.format(words), ""))
    assert (with_chrome.view == without.view) == is_chrome
    assert (with_chrome.coverage == 1) == is_chrome


def test_a_page_whose_author_calls_everything_chrome_has_none():
    one, other = (read(f"<aside>{ARTICLE}{n}</aside><p>All rights</p>", TEXT) for n in "12")
    assert one.view != other.view
    assert 0.9 < one.coverage < 1


def test_a_line_that_extraction_made_of_two_is_found_in_pieces():
    body = ARTICLE.replace("again on", "<span>advertisement</span> again on")
    assert 0.8 < read(body, TEXT).coverage < 1


def test_the_view_is_of_the_text_and_not_of_its_markup():
    pages = (f"<p>{TEXT}</p>", f"<div>\n <b>{TEXT}</b> </div>", f"{NAV}<p>{TEXT}</p>{FOOTER}")
    assert len({read(body, TEXT).view for body in pages}) == 1


def test_the_size_is_in_bytes():
    assert read(f"{NAV}<p>Zwölf - 12!</p>", "").size == len("Zwölf12".encode())


def headline(body):
    return read(body + ARTICLE, TEXT).headline


def test_the_headline_is_the_first_one_of_the_page_itself():
    own = headline("<h1>The bridge</h1>")
    assert own
    after = "<h1>The <b>bridge</b> <a href='#it'>¶</a></h1><h1>More</h1>"
    for before in (
        '<h1><a href="/">The Lantern</a></h1>',
        "<header><h1>The Lantern</h1></header>",
        "<h1></h1>",
        "<h1><img src='logo.png'></h1>",
    ):
        assert headline(before + after) == own
    in_link = headline("<h1>The <a href='/b'>bridge</a> <button>Copy</button></h1>")
    assert in_link == own != headline("<h1>The <a href='/b'>ferry</a></h1>")
    assert headline("<h1>The bridge <a href='/b'>+=</a></h1>") != own


def test_names_are_equal_whatever_their_case_and_blanks():
    assert headline("<h1>The  bridge!</h1>") == headline("<h1>the\n<b>BRIDGE</b>!</h1>")
    assert read("", "", "A b").title == read("", "", "a\u00a0B").title != b""
    assert read("", "", "e\u0301").title == read("", "", "\u00e9").title
    assert read("", "", " \u00ad ").title == read("", "", None).title == b""


@each(
    ("one", "other"),
    [("की", "का"), ("กิน", "กัน"), ("operator+=", "operator-="), ("C++", "C#")],
)
def test_names_with_other_signs_are_others(one, other):
    assert read("", "", one).title != read("", "", other).title
    assert headline(f"<h1>{one}</h1>") != headline(f"<h1>{other}</h1>")


@each(
    ("title", "segments"),
    [
        ("Ferry | Town", ["Ferry", "Town"]),
        ("Ferry|Town", ["Ferry", "Town"]),
        ("Ferry › Town", ["Ferry", "Town"]),
        ("Ferry - Town – News", ["Ferry", "Town", "News"]),
        ("Ferry · a · b · Town", ["Ferry", "ab", "Town"]),
        ("Reader (kafka 0.10.0.1 API)", ["Reader", "kafka 0.10.0.1 API)"]),
        ("well-known_name f(int)", ["well-known_name f(int)"]),
        ("Notes - 1.2 - Town", ["Notes1.2", "Town"]),
        (" | Town", ["Town"]),
        ("渡船_小镇新闻", ["渡船", "小镇新闻"]),
        ("渡船-新闻——小镇", ["渡船", "新闻", "小镇"]),
        ("渡船_2024丨Town", ["渡船2024", "Town"]),
    ],
)
def test_the_segments_of_a_title_are_told_apart(title, segments):
    found = segments_of(read("", "", title).title)
    assert found == [digest_of_name(segment) for segment in segments]


@pytest.mark.parametrize("tag", ["aside", "select", "textarea", "header", "footer"])
@pytest.mark.parametrize("article", ["main", "article"])
def test_what_an_article_has_is_its_own(tag, article):
    texts = [f"<{article}>{ARTICLE}<{tag}>{own}</{tag}></{article}>" for own in ("one", "other")]
    one, other = (read(text, "") for text in texts)
    assert one.view != other.view


@each(("one", "other"), [("-5", "5"), ("1.25", "12.5"), ("12.5", "125"), ("1,000", "1000")])
def test_numbers_are_what_they_are(one, other):
    views = [read(f"<p>The balance is {number} now.</p>", "").view for number in (one, other)]
    assert views[0] != views[1]
    assert read(f"<p>It is {one} now.</p>", f"It is {one} now.").coverage == 1


@pytest.mark.alone
def test_a_text_of_lines_that_are_not_found_takes_time_by_its_length():
    def seconds(size):
        body = "<p>" + "ab" * size + "</p>"
        lines = "\n".join(f"{'ab' * 30}{number}" for number in range(size // 20))
        start = time.process_time()
        read(body, lines)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(200_000) < 40 * seconds(10_000) + 0.2


@pytest.mark.slow
def test_evidence_is_equal_in_every_process():
    script = (
        "import trafilatura; from dedup.evidence import VisibleText;"
        f"tree = trafilatura.load_html('<html><body><h1>A</h1>{ARTICLE}</body></html>');"
        "print(VisibleText(tree).evidence('A', 'B').to_bytes().hex())"
    )
    assert len(outputs_by_seed(script)) == 1


def test_characters_that_stand_for_marks_here_do_no_harm():
    evidence = read("<p>a\ufdd0b\ufdd5 &#xFDD1;\ufdfa</p><h1>\ufdd2</h1>", "a\ufdd1", "\ufdd3")
    assert 0 <= evidence.coverage <= 1
    assert len(evidence.to_bytes()) == SIZE_OF_EVIDENCE


@each(
    ("body", "text", "weakness"),
    [
        (ARTICLE, TEXT, None),
        (ARTICLE, PARAGRAPHS[2], Weakness.LITTLE),
        (ARTICLE, "", Weakness.LITTLE),
        (f"<div>{CLOUD}</div>{ARTICLE}", "\n".join(TAGS), Weakness.LINKS),
        (f"<ul>{CLOUD}</ul>", "\n".join(TAGS), None),
    ],
)
def test_a_text_is_weak_if_it_is_little_of_its_page_or_only_its_links(body, text, weakness):
    evidence = read(body, text)
    assert evidence.weakness == weakness
    assert Evidence.from_bytes(evidence.to_bytes()).weakness == weakness
