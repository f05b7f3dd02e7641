"""The HTML report, in a real browser too: it opens, works, and takes no orders from pages."""

import json
import re
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest
from browsers import chromium, console, show
from cases import each
from report_of import (
    SETTINGS,
    changed,
    dropped_text,
    exact,
    lossy,
    miss,
    near,
    new,
    no_text,
    page,
    report_of,
    summary_of,
)
from texts import CHINESE, article, edited

from dedup.methods import SimHash
from dedup.report import Summary
from dedup.report.counts import Counters
from dedup.report.html import as_html
from dedup.report.templating import messages, read_template, write_html
from dedup.rule import Kind, Rule, Verdict
from dedup.stores import MemoryStore
from dedup.units import Count
from dedup.url_advice import Advice
from dedup.view.view import View

HOSTILE = [
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "\"'><svg onload=window.pwned=1>",
    "{{ 7 * 7 }} {% raw %} {0} %s",
    "<!-- ]]> &lt;b&gt; &amp; &#x3c;",
    "\u202egnp.exe \u2066 \u200f مرحبا بالعالم",
    "nul\x00 bell\x07 escape\x1b[31m \ud800 \ufeff",
    "=cmd|' /C calc'!A0",
    "w" * 100_000,
]
HOSTILE_URLS = [
    "javascript:window.pwned=1//",
    "data:text/html,<script>parent.pwned=1</script>",
    "http://h.example/\"onmouseover='window.pwned=1'",
    "http://h.example/</script><script>window.pwned=1</script>",
    "http://h.example/\u202e\x00\ud800",
    "http://" + "long" * 5000 + ".example/",
    "http://[",
    "",
    "x' || 1",
    "HTTP://H.example/?a=<b>&amp;",
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


def edited_more(text):
    words = text.split()
    return " ".join("changed" if place % 17 == 0 else word for place, word in enumerate(words))


def written(folder, *values, **others):
    path = folder / "report.html"
    write_html(path, as_html(*values, **others))
    return path


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of a small crawl, its page, and the copies in it.

    There are 40 texts, of which a copy each, a few more, and print views.
    """
    pages = []
    for n in range(40):
        text = article(n)
        pages.append((f"http://a.example/v1/{n}.html", page(text, f"Title {n}")))
        pages.append((f"http://a.example/v1/{n}.html?print=1", page(text, f"Title {n}")))
        pages.append((f"http://b.example/{n}", page(edited(text), f"Copy {n}")))
        if n % 10 == 0:
            far = page(edited_more(text), f"Far {n}")
            pages.append((f"http://c.example/{n}", far))
            pages += [(f"http://c.example/{n}/{m}", page(text, None)) for m in range(n // 2)]
    pages.append(("http://c.example/zh", page(CHINESE, "米粉", "zh")))
    pages.append(("http://c.example/zh2", page(CHINESE.replace("码头", "车站"), "米粉", "zh")))
    summary, detector = summary_of(pages)
    with closing(summary.events) as events:
        made = summary.finish(detector.follower.view, detector.store, spider="test")
        folder, copies = tmp_path_factory.mktemp("report"), [*events.copies()]
        return made, written(folder, made, events.text, copies), copies


@pytest.mark.slow
def test_it_opens_and_can_be_read_without_a_word_to_console_or_network(browser, report):
    colours = set()
    for width, dark in ((1280, False), (390, False), (390, True)):
        show(browser, report[1], width=width, dark=dark)
        assert console(browser) == []
        loaded = "return performance.getEntriesByType('resource').map(entry => entry.name)"
        assert browser.execute_script(loaded) == []
        overflow = "return document.documentElement.scrollWidth"
        assert browser.execute_script(overflow) <= width
        colour = "return getComputedStyle(document.body)[arguments[0]]"
        ground, ink = (
            sum(map(int, re.findall(r"\d+", browser.execute_script(colour, name))[:3])) / 3
            for name in ("backgroundColor", "color")
        )
        assert abs(ground - ink) > 150
        colours.add(ground > ink)
    assert colours == {True, False}
    source = report[1].read_text("utf-8")
    assert not re.search(r"(?:src|srcset|@import|url\()\s*=?\s*[\"']?(?:https?:)?//", source)


def texts_of(browser, selector):
    return [element.text for element in browser.find_elements("css selector", selector)]


def shown_titles(browser):
    """The titles of the stored pages of the groups that are shown."""
    return [title for title in texts_of(browser, ".group > .pair .title") if title]


@pytest.mark.slow
def test_figures_and_drops_are_those_of_the_crawl_the_largest_group_first(browser, report):
    made, path, _ = report
    show(browser, path)
    pages = made.pages
    counts = (pages.judged, pages.new, pages.exact_duplicates, pages.near_duplicates, 0)
    assert texts_of(browser, ".figure strong")[:5] == list(map(str, counts))
    assert len(browser.find_elements("css selector", "#distances tbody tr")) > 10
    assert len(browser.find_elements("css selector", "#distances tr.threshold")) == 1
    drops = made.pages.exact_duplicates + made.pages.near_duplicates
    assert len(browser.find_elements("css selector", ".copy .badge")) == drops
    assert shown_titles(browser)[:2] == ["Title 30", "Title 20"]
    reasons = {text for text in texts_of(browser, ".copy .badge") if text}
    assert {text.partition(" ")[0] for text in reasons} == {"same", "distance"}
    for selector in ("button", "input", "nav", "a", "table"):
        assert browser.find_elements("css selector", selector)
    # One of each class: to ask for the name of an element takes a while.
    of_each_class = "return Object.values(Object.fromEntries([...document.querySelectorAll("
    of_each_class += "'button, input, nav, a, summary')].filter(one => one.checkVisibility())"
    of_each_class += ".map(one => [one.tagName + one.className + one.id, one])))"
    elements = browser.execute_script(of_each_class)
    assert len(elements) > 5
    assert [one for one in elements if not one.accessible_name] == []
    assert len(browser.find_elements("css selector", "main, header, footer, nav, h1")) == 5


@pytest.mark.slow
def test_drops_are_searched(browser, report):
    show(browser, report[1])
    search = browser.find_element("id", "search")
    for words, found in (("title 33", ["Title 33"]), ("B.EXAMPLE/7", ["Title 7"]), ("nowhere", [])):
        search.clear()
        search.send_keys(words)
        assert shown_titles(browser) == found
    assert browser.find_element("id", "results").text == "0 shown"


@pytest.mark.slow
def test_buttons_open_the_differences_of_copies_and_near_misses(browser, report):
    made, path, _ = report
    show(browser, path)
    browser.find_element("id", "search").send_keys("b.example/7")
    copy = next(c for c in browser.find_elements("css selector", ".copy") if c.is_displayed())
    button = copy.find_element("css selector", ".compare")
    button.send_keys("\ue007")  # enter
    assert button.get_attribute("aria-expanded") == "true"
    assert texts_of(copy, ".diff ins") == ["otherwise"] * 3
    assert (len(texts_of(copy, ".diff del")), button.text) == (3, "Hide")
    button.click()
    assert browser.find_elements("css selector", ".diff") == []
    assert {pair.other for pair in made.near_misses} & {
        f"http://{host}" for host in ("a.example/v1/0.html", "c.example/0")
    }
    browser.find_element("css selector", "#near-misses .compare").click()
    differing = texts_of(browser, "#near-misses .diff ins, #near-misses .diff del")
    assert {"changed", "otherwise"} & set(differing)


def with_settings(report, **values):
    return changed(report, settings={**report.settings, **values})


@pytest.mark.slow
def test_a_drop_is_brought_back_by_the_line_beside_it(browser, report, tmp_path):
    kept = with_settings(report[0], DEDUP_DUPLICATES="dropped.jsonl", DEDUP_INDEX="pages.sqlite")
    show(browser, written(tmp_path, kept, no_text, report[2]))
    line = "dedup restore dropped.jsonl --ledger pages.sqlite"
    assert browser.find_element("id", "restore").text == f"{line} >> restored.jsonl"
    for selector, option in ((".group > .pair", "--group"), (".copy > .pair", "--url")):
        pair = browser.find_element("css selector", selector)
        url = pair.find_element("css selector", "a.url").text
        pair.find_element("css selector", ".restore").click()
        one = pair.find_element("xpath", "following-sibling::div[1]//code")
        assert one.text == f"{line} {option} '{url}' >> restored.jsonl"


def test_where_nothing_was_put_aside_the_report_says_what_to_set(report):
    made, _, copies = report
    html = as_html(made, no_text, copies)
    assert 'id="restore-setting"' in html
    assert 'id="restore"' not in html
    marked = as_html(with_settings(made, DEDUP_ACTION="mark"), no_text, copies)
    assert 'id="way-back"' not in marked
    assert "What was marked" in marked


@pytest.mark.slow
def test_chinese_differences_are_shown_as_they_are_written(browser, tmp_path, summary):
    events = summary.events
    text = "从前这里是一个码头，用 Scrapy 2.16抓取。"
    summary.record(new(), "http://a/", 10, page(text))
    copy = page(text.replace("码头", "车站").replace("2.16", "2.17"))
    summary.record(near("http://a/", 3), "http://b/", 10, copy)
    show(browser, written(tmp_path, summary.finish(), events.text, events.copies()))
    browser.find_element("css selector", ".copy .compare").click()
    shown = browser.find_element("css selector", ".diff").text.partition("\n")[2]
    assert shown.strip() == "从前这里是一个码头车站，用 Scrapy 2.16 2.17抓取。"
    assert texts_of(browser, ".diff ins") == ["车站", "2.17"]


def test_advice_is_given(report):
    html = report[1].read_text("utf-8")
    advice = html.partition('id="advice"')[2].partition("</section>")[0]
    assert ">Query parameter<" in advice
    assert "folders and hosts can be denied to a LinkExtractor" in advice
    assert "Equal content in 40 of 40 cases" in advice


@pytest.mark.slow
def test_the_language_is_the_browsers_and_can_be_changed(browser, report):
    show(browser, report[1])
    root = browser.find_element("css selector", "html")
    assert root.get_attribute("lang") == "en"
    assert browser.find_element("css selector", "h1").text == "Duplicates in this crawl"
    browser.find_element("css selector", "[data-language=zh]").click()
    assert root.get_attribute("lang") == "zh"
    assert browser.find_element("css selector", "h1").text == "本次抓取中的重复内容"
    search = browser.find_element("id", "search")
    assert (
        search.get_attribute("placeholder")
        == search.get_attribute("aria-label")
        == "搜索网址、标题和理由（可用多个词）"
    )
    browser.find_element("css selector", ".copy .compare").click()
    assert "收起" in texts_of(browser, ".copy .compare")
    visible = browser.find_element("css selector", "body").text
    assert not re.search(r"\b(?:Compare|Show|near-duplicates|stored)\b", visible)
    with chromium("zh-CN,zh") as chinese:
        show(chinese, report[1])
        assert chinese.find_element("css selector", "html").get_attribute("lang") == "zh"


def test_why_pages_were_skipped_or_not_read_is_told_in_both_languages():
    summary = Summary(Counters(), SETTINGS)
    for reason in ("too_short", "too_short", "of_my_own"):
        summary.record(Verdict(Kind.SKIPPED, "simhash", reason=reason), "http://a/", 5)
    summary.count("unread/timeout", 3)
    summary.count("unread/crash")
    html = as_html(summary.finish(), no_text, ())
    for told in ("pages that could not be read: 4", "took too long", "超时", "太短", "of my own"):
        assert told in html


def test_one_thing_is_told_of_in_the_singular():
    for name, (english, _) in messages().items():
        if name == "per_second":  # of which there may be 1.0
            continue
        told = english.format(*[Count(1)] * 4)
        plurals = set(re.findall(r"\b1 (?:[a-z-]+ )?([a-z-]+s)\b", told))
        assert plurals <= {"is", "was", "has", "lies", "differs", "repeats", "this", "miss"}, told
        assert not re.search(r"\b1 (?:\S+ )?(?:are|were|have)\b", told), told


def test_every_documented_reason_has_a_text_of_its_own():
    documented = (Path(__file__).parents[2] / "docs" / "report.md").read_text("utf-8")
    rows = documented.partition("| reason | meaning |")[2].partition("\n\n")[0]
    reasons = " ".join(row.split("|")[1] for row in rows.splitlines()[2:])
    causes = documented.partition("| `dedup/unread/<cause>` |")[2].partition("\n")[0]
    for kind, names in (("skipped", reasons), ("unread", causes)):
        told = {name.partition("_")[2] for name in messages() if name.startswith(f"{kind}_")}
        assert told == set(re.findall(r"`([a-z_]+)`", names))


@pytest.mark.slow
def test_a_phone_shows_urls_over_their_numbers_and_nothing_beyond_its_edge(browser, report):
    show(browser, report[1], width=390)
    for name in ("hosts", "url_patterns"):
        row = browser.find_element("css selector", f"#{name} tbody tr")
        url, number, card = (
            browser.execute_script("return arguments[0].getBoundingClientRect()", element)
            for element in (
                row.find_element("tag name", "th"),
                row.find_element("tag name", "td"),
                browser.find_element("id", name),
            )
        )
        assert url["width"] > 0.8 * card["width"]
        assert number["top"] >= url["bottom"] - 1
    widths = browser.execute_script(
        "return [...document.querySelectorAll('.badge')].map(each => each.offsetWidth)"
    )
    assert len(set(widths) - {0}) == 1


@pytest.mark.slow
def test_on_paper_every_drop_is_named_and_no_control_is_left(browser, report):
    made, path, _ = report
    show(browser, path)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    drops = made.pages.exact_duplicates + made.pages.near_duplicates
    copies = browser.find_elements("css selector", ".copy .url")
    assert sum(copy.is_displayed() for copy in copies) == drops
    assert browser.find_element("id", "near-misses").is_displayed()
    for selector in ("#search", ".compare", ".take", "#settings"):  # nobody has opened the last
        assert not browser.find_element("css selector", selector).is_displayed()


def with_dropped_text(report, *lossiest, is_stored=False, earlier=0):
    pages = len(lossiest)
    text = dropped_text(pages, earlier, 1000 * pages, 0.025, 0.002, is_stored, *lossiest)
    return changed(report, dropped_text=text)


def hostile_report(summary):
    """A crawl in which every title, URL and text is out to do harm, as `as_html` takes it."""
    summary.settings = {**SETTINGS, HOSTILE[0]: HOSTILE[1]}
    urls = [f"{url}{n}" if url else url for n, url in enumerate(HOSTILE_URLS)]
    for number, (url, text) in enumerate(zip(urls, HOSTILE, strict=True)):
        words = f"{text} {article(number)}"
        summary.record(new(), url, 10, page(words, text))
        copy = page(f"{words} {HOSTILE[0]} {HOSTILE[1]}", text)
        summary.record(near(url, 2), url + HOSTILE_URLS[3], 10, copy)
        summary.record(exact(url), url + HOSTILE_URLS[0], 10, page(words, text))
    summary.record_time(HOSTILE[2], 1)
    report = summary.finish(View(SimHash(), Rule()), MemoryStore(), spider=HOSTILE[1])
    evil = Advice(
        kind="parameter",
        name=HOSTILE[1],
        other=HOSTILE[2],
        host=HOSTILE[3],
        pages=9,
        compared=9,
        agreed=9,
        confidence=0.95,
        examples=((urls[0], urls[3]),),
        counterexamples=((urls[1], urls[2]),),
    )
    advice = {
        **report.url_advice,
        "advice": [asdict(evil)],
    }
    near_misses = [miss(urls[0], urls[3], 4)]
    hostile = changed(report, near_misses=near_misses, url_advice=advice)
    hostile = with_dropped_text(hostile, *(lossy(url, urls[0], 5, 10) for url in urls))
    return hostile, summary.events.text, summary.events.copies()


@pytest.mark.slow
def test_hostile_pages_only_show(browser, tmp_path, summary):
    path = written(tmp_path, *hostile_report(summary))
    show(browser, path)
    assert console(browser) == []
    links = []
    for _ in range(2):
        for selector in (".restore", ".compare", "summary"):
            click_all = "document.querySelectorAll(arguments[0]).forEach(each => each.click())"
            browser.execute_script(click_all, selector)
            all_links = "return [...document.querySelectorAll('a')].map(a => a.href)"
            links += browser.execute_script(all_links)
    assert len(set(links)) > 10
    assert all(re.match(r"https?://|file://[^<]*#[\w-]+$", link) for link in links)
    for language in ("zh", "en"):
        browser.find_element("css selector", f"[data-language={language}]").click()
    browser.find_element("id", "search").send_keys("<script>")
    assert console(browser) == []
    assert browser.execute_script("return window.pwned") is None
    assert browser.title.startswith("</script><script>window.pwned = 1</script>")
    elements = "return document.querySelectorAll('main script, main img, main svg[onload]').length"
    assert browser.execute_script(elements) == 0
    assert browser.execute_script("return document.scripts.length") == 2
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1280
    source = path.read_text("utf-8")
    assert "\u202e" not in source
    assert "\x00" not in source
    assert len(source) < 300_000


@pytest.mark.slow
def test_even_a_script_that_got_in_would_not_run(browser, report, tmp_path):
    path = tmp_path / "report.html"
    source = report[1].read_text("utf-8")
    injected = (
        "<script>window.pwned = 1</script><img src=http://127.0.0.1:9/x onerror=window.pwned=2>"
    )
    path.write_text(source.replace("<main", injected + "<main", 1), "utf-8")
    show(browser, path)
    assert browser.execute_script("return window.pwned") is None
    assert any("Content Security Policy" in message for message in console(browser))


@pytest.mark.slow
def test_10_000_pages_take_less_than_3_megabytes_and_little_time(tmp_path, summary, monkeypatch):
    monkeypatch.setattr("dedup.report.html._SECONDS_OF_DIFFS", 0.5)
    path = "a/long/path/" * 6
    originals = [f"http://shop{n % 300}.example/{path}the-page-{n}.html" for n in range(1700)]
    some = [page(article(n, 800), f"The title of page {n}") for n in range(200)]
    copies = [page(edited(read.text), read.title) for read in some]
    small = page("a small page of its own")
    for number, url in enumerate(originals):
        summary.record(new(), url, 1000, some[number] if number < 200 else small)
    for number in range(8_500):
        of = number % len(originals)
        kind = near(originals[of], number % 4) if number % 3 else exact(originals[of])
        url = f"{originals[of]}?session={number}&ref=search"
        summary.record(kind, url, 1000, copies[of] if of < 200 else small)
    start = time.process_time()
    report = summary.finish(View(SimHash(), Rule()), MemoryStore())
    path = written(tmp_path, report, summary.events.text, summary.events.copies())
    assert path.stat().st_size < 3_000_000
    assert report.groups == 1700
    assert path.read_text("utf-8").count('<li class="copy"') > 300
    assert time.process_time() - start < 10


def test_what_has_no_room_is_counted_with_the_file_that_has_it(monkeypatch, report):
    monkeypatch.setattr("dedup.report.html._BYTES", 3000)
    made, _, copies = report
    html = as_html(made, no_text, copies, copies_in="all.copies.jsonl")
    listed = html.count('<li class="copy"')
    assert 2 < listed < 10
    assert f"{len(copies) - listed} copies are left out" in html
    assert "all.copies.jsonl" in html


@each("limit", ["_SECONDS_OF_DIFFS", "_BYTES_OF_DIFFS"])
def test_a_crawl_of_many_or_slow_differences_has_a_report_without_them(monkeypatch, report, limit):
    made, path, copies = report
    assert '"+ otherwise"' in path.read_text("utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(f"dedup.report.html.{limit}", -1)
        again = as_html(made, lambda url: (None, url), copies)
    assert made.near_misses
    assert "text not kept" in again
    assert '"diffs":[]' in again


def test_the_interface_is_there_in_both_languages():
    for name, (english, chinese) in messages().items():
        assert english
        assert chinese
        assert set(re.findall(r"\{\d", english)) == set(re.findall(r"\{\d", chinese)), name
        # Chinese has no plural.
        assert set(re.findall(r"\{\d.", chinese)) <= {f"{{{place}}}" for place in range(9)}
    sources = "".join(map(read_template, ("report.html", "report.js")))
    named = set(re.findall(r'\b(?:t|say|attribute)\("([a-z_0-9-]+)"', sources))
    beginnings = {f"{name.partition('_')[0]}_" for name in messages()}
    assert named - beginnings - messages().keys() == set()
    assert len(named) > 50


@pytest.mark.slow
def test_differences_are_shown_up_to_some_length(summary, monkeypatch):
    monkeypatch.setattr("dedup.report.html._SECONDS_OF_DIFFS", 60)  # of a busy machine
    for host, words in (("a", ("old", "same")), ("b", ("new", "same"))):
        summary.record(new(), f"http://{host}/", 10, page(" ".join(words * 200)))
        summary.record(new(), f"http://{host}/long", 10, page(words[0] * 500))
    pairs = (miss(f"http://a/{path}", f"http://b/{path}", 4) for path in ("", "long"))
    report = changed(summary.finish(), near_misses=list(pairs))
    found = re.search('"diffs":(.*),"messages"', as_html(report, summary.events.text, ()))[1]
    many, long = json.loads(found)
    assert (many[:2], many[-1], len(many)) == (["-old", "+new"], "…", 301)
    assert sorted(map(len, long)) == [1001, 1001]
    assert {part[-3:] for part in long} == {"..."}


def test_it_names_the_drops_that_lost_most_with_their_differences():
    pages = [("http://a/", page(article(1))), ("http://a/2", page(edited(article(1))))]
    worst = lossy("http://a/2", "http://a/", 9, 198)
    summary, detector = summary_of(pages)
    with closing(summary.events) as events:
        report = summary.finish(detector.follower.view, detector.store)
        html = as_html(with_dropped_text(report, worst, earlier=1234), events.text, ())
    section = html.partition('id="lost-text"')[2].partition("</section>")[0]
    for told in (
        "1,000 word sequences",
        "2.5 % (± 0.2) of these are in no",
        "at: 1,234",
        "9 / 198",
    ):
        assert told in section
    assert '"+ otherwise"' in html


def test_pages_that_are_marked_would_be_lost():
    def html_of(pages, *lossiest, **others):
        return as_html(with_dropped_text(report_of(pages), *lossiest, **others), no_text, ())

    html = html_of([], lossy("b", "a", 1, 2), is_stored=True)
    assert "They would be lost if what is marked were dropped" in html
    assert "are in no stored page" not in html
    assert "No page was dropped." in html_of([])
    html = html_of([("a", page(article(1))), ("b", page(article(1)))])
    assert "None of the dropped pages could be looked at." in html
