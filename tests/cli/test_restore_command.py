"""The way back: items that real crawls dropped, restored by the command."""

import json
import os
import pty
from functools import partial

import pytest
from cases import each
from collections_on_disk import write_lines
from commands import COPIES, refused, run, run_into
from crawls import crawl_site, known_site
from texts import article, page

from dedup.stores.ledger_file import LedgerFile, lock
from dedup.stores.reader import LedgerReader

FIELDS = {"text": "body", "title": "title", "language": "language"}
PAGES = {
    **COPIES,
    "/b": page(article(2)),
    "/b/print": page(article(2)),
}


def urls(out):
    return [json.loads(line)["url"] for line in out.splitlines()]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """The folder of a crawl with a ledger and a file of dropped items, and the URL of the site."""
    folder = tmp_path_factory.mktemp("crawled")
    files = {"DEDUP_INDEX": folder / "pages.sqlite", "DEDUP_DUPLICATES": folder / "dropped.jsonl"}
    return folder, crawl_site(PAGES, DEDUP_FIELDS=FIELDS, **files).url


@pytest.fixture
def dropped(crawled):
    return crawled[0] / "dropped.jsonl"


def test_items_come_back_as_the_feed_would_have_them(crawled, dropped, capsys):
    _, url = crawled
    code, out, err = run(capsys, "restore", dropped)
    assert code == 0
    items = [json.loads(line) for line in out.splitlines()]
    assert [item["url"] for item in items] == [f"{url}{p}" for p in ("/near", "/equal", "/b/print")]
    assert items[1] == {
        "url": f"{url}/equal", "body": items[1]["body"], "title": "The first", "language": "en"
    }  # fmt: skip
    assert items[1]["body"].endswith(article(1).split()[-1])
    told = "3 of 3 items restored (2 exact-duplicate, 1 near-duplicate; 2 groups)\n"
    assert err == told


@each(
    ("asked", "paths"),
    [
        (["--verdict", "near-duplicate"], ["/near"]),
        (["--group", "{url}/a"], ["/near", "/equal"]),
        (["--url", "*/print"], ["/b/print"]),
        (["--url", "*/?qual"], []),  # only * stands for something else
        (["--url", "{url}/*a*"], ["/near", "/equal"]),
        (["--min-distance", "1"], ["/near"]),
        (["--group", "{url}/a", "--min-distance", "0", "--url", "*l"], ["/equal"]),
        (["--group", "{url}/b", "--verdict", "near-duplicate"], []),
    ],
)
def test_items_are_chosen_by_all_that_is_asked_for(crawled, dropped, capsys, asked, paths):
    _, url = crawled
    code, out, _ = run(capsys, "restore", dropped, *(part.format(url=url) for part in asked))
    assert code == 0
    assert urls(out) == [url + path for path in paths]


def lines_of(dropped):
    return [json.loads(line) for line in dropped.read_text().splitlines()]


def test_urls_are_chosen_as_people_read_them_too(dropped, tmp_path, capsys):
    [line, *_] = lines_of(dropped)
    line |= {"url": "http://a/%E8%8C%B6?x=1", "original": "http://a/%E9%93%81"}
    path = write_lines(tmp_path / "dropped", [line])
    for asked in (["--url", "*/茶?*"], ["--url", "*%E8%8C%B6?x=1"], ["--group", "http://a/铁"]):
        assert len(run(capsys, "restore", path, *asked)[1].splitlines()) == 1


def test_lines_that_are_no_dropped_items_are_named_and_all_others_restored(
    dropped, tmp_path, capsys
):
    lines = dropped.read_text().splitlines()
    path = tmp_path / "dropped.jsonl"
    path.write_text("\n".join([lines[0], lines[1][:100], '{"url": "http://a/"}', lines[2]]))
    code, out, err = run(capsys, "restore", path)
    assert code == 1
    assert urls(out) == [json.loads(lines[0])["url"], json.loads(lines[2])["url"]]
    told = err.splitlines()
    assert told[0].startswith("2 of 2 items restored")
    assert told[1].startswith(
        f"lines that cannot be restored, as no dropped items: 2; the first: {path}, record 2: not "
        "JSON"
    )


def test_an_item_that_is_there_twice_is_restored_once(dropped, tmp_path, capsys):
    first, *_ = lines = lines_of(dropped)
    again = first | {"dropped": "2030-01-01T00:00:00+00:00"}
    other = first | {"item": {**first["item"], "price": 2}}
    path = write_lines(tmp_path / "dropped", [*lines, again, other])
    code, out, err = run(capsys, "restore", path, dropped)
    assert (code, len(out.splitlines())) == (0, 4)
    assert "left out, as they are equal to another one: 4\n" in err


def test_values_of_any_kind_survive(dropped, tmp_path, capsys):
    [line, *_] = lines_of(dropped)
    line["item"] = {
        "url": "http://a/", "half": "\ud800", "big": 10**30, "float": 0.1, "none": None,
        "list": [1, {"a": True}], "control": "\u2028\x00\n", "表": "铁路",
    }  # fmt: skip
    _, out, _ = run(capsys, "restore", write_lines(tmp_path / "dropped", [line]))
    assert json.loads(out) == line["item"]
    assert "铁路" in out


def test_no_page_counts_as_stored_whose_items_go_nowhere(crawled, dropped):
    ledger = crawled[0] / "pages.sqlite"
    before = ledger.read_bytes()
    control, terminal = pty.openpty()
    for output in (os.devnull, terminal):
        with open(output, "w") as file:
            code, err = run_into(file, "restore", dropped, "--ledger", ledger)
        told = "--ledger takes the items for stored: write them to a file"
        assert (code, told in err) == (2, True)
    os.close(control)
    assert ledger.read_bytes() == before
    with open(os.devnull, "w") as file:
        code, err = run_into(file, "restore", dropped)
    assert (code, err.partition(" (")[0]) == (0, "3 of 3 items restored")


def test_a_line_that_a_kill_tore_in_the_feed_swallows_no_restored_item(dropped, tmp_path):
    feed = tmp_path / "pages.jsonl"
    for begin in ("", '{"url": "http://whole"}\n', '{"url": "http://to'):
        feed.write_text(begin)
        with feed.open("a") as file:
            assert run_into(file, "restore", dropped, "--group", "x")[0] == 0
            assert run_into(file, "restore", dropped)[0] == 0
        lines = feed.read_text().removeprefix(begin).lstrip("\n").splitlines()
        assert [json.loads(line) for line in lines] == [d["item"] for d in lines_of(dropped)]
        assert feed.read_text()[len(begin) :][:1] == ("\n" if begin.endswith("to") else "{")


@pytest.fixture
def site(tmp_path):
    """A site that is crawled with a ledger and a file of dropped items."""
    with known_site(PAGES, tmp_path) as site:
        site.crawl = partial(site.crawl, DEDUP_DUPLICATES=tmp_path / "dropped.jsonl")
        yield site


@pytest.fixture
def restore(tmp_path, capsys):
    """A function that restores items of that crawl, of which its ledger is told."""
    asked = "restore", tmp_path / "dropped.jsonl", "--ledger", tmp_path / "pages.sqlite"
    return partial(run, capsys, *asked)


def parse_html(self, response):
    yield {"url": response.url, "html": response.text}


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{}, {"DEDUP_ITEM_FIELD": "html", "parse": parse_html}], ids=["page", "item"]
)
def test_what_is_restored_is_known_to_the_next_crawls(tmp_path, restore, site, settings):
    url = site.url
    site.crawl(**settings)
    code, out, err = restore("--group", f"{url}/a")
    assert (code, urls(out)) == (0, [f"{url}/near", f"{url}/equal"])
    assert err == "2 of 3 items restored (1 exact-duplicate, 1 near-duplicate; 1 group)\n"
    with LedgerReader(tmp_path / "pages.sqlite") as ledger:
        assert [crawl.reason for crawl in ledger.crawls()] == ["finished", "restored"]
        assert [match.duplicate for match in ledger.matches()] == [f"{url}/b/print"]
    # Once more: they are stored, which the ledger knows.
    code, out, err = restore("--group", f"{url}/a")
    assert (code, out) == (0, "")
    assert f"left out, as {tmp_path / 'pages.sqlite'} has their pages as stored: 2\n" in err
    (tmp_path / "dropped.jsonl").unlink()
    result = site.crawl(**settings)
    assert result.items == []
    assert result.stats["dedup/unchanged"] == 4
    assert [line["url"] for line in lines_of(tmp_path / "dropped.jsonl")] == [f"{url}/b/print"]
    site.pages["/near"] = page(article(9), title="The first")
    assert site.crawl(**settings).stored == ["/near"]  # it has changed


@pytest.mark.slow
def test_a_page_that_was_dropped_with_two_texts_is_restored_with_both_and_only_once(site, restore):
    site.crawl(DEDUP_FIELDS=FIELDS)
    site.pages["/near"] = PAGES["/equal"]
    site.crawl(DEDUP_FIELDS=FIELDS)
    assert urls(restore("--url", "*/near")[1]) == [f"{site.url}/near"] * 2
    assert restore("--url", "*/near")[:2] == (0, "")


@pytest.mark.slow
def test_all_items_of_a_page_are_restored_and_their_page_stored_once(tmp_path, site, restore):
    def parse(self, response):
        yield {"url": response.url, "number": 1}
        yield {"url": response.url, "number": 2}

    site.crawl("/a", "/near", parse=parse)
    assert restore()[1].count('/near"') == 2
    with LedgerReader(tmp_path / "pages.sqlite") as ledger:
        assert ledger.counts() == {"pages": 2, "ended": 0, "matches": 0}


def test_a_ledger_of_other_settings_learns_nothing_and_the_items_are_restored(
    dropped, tmp_path, capsys
):
    crawl_site(PAGES, "/b", DEDUP_INDEX=tmp_path / "p.sqlite", DEDUP_SCOPE="host")
    line = lines_of(dropped)[0]
    del line["record"]
    path = write_lines(tmp_path / "d.jsonl", [line])
    code, out, err = run(capsys, "restore", path, dropped, "--ledger", tmp_path / "p.sqlite")
    assert (code, len(out.splitlines())) == (0, 3)
    assert f"without a record that {tmp_path / 'p.sqlite'} can use, so that a crawl drops" in err
    assert "again: 3; the first: " in err
    with LedgerReader(tmp_path / "p.sqlite") as ledger:
        assert ledger.counts()["pages"] == 1


def test_a_ledger_in_use_is_refused_before_an_item_is_written(crawled, dropped, capsys):
    folder, _ = crawled
    with lock(LedgerFile(folder / "pages.sqlite")):
        told = refused(capsys, "restore", dropped, "--ledger", folder / "pages.sqlite")
    assert "in use" in told
    assert "is no file" in refused(capsys, "restore", dropped, "--ledger", folder / "none.sqlite")
    assert "nope.jsonl cannot be used" in refused(capsys, "restore", folder / "nope.jsonl")


@pytest.mark.slow
def test_no_item_counts_as_stored_whose_output_fails(crawled, dropped, small_disk):
    ledger = crawled[0] / "pages.sqlite"
    big = [line | {"item": {"text": "x" * 500_000}} for line in lines_of(dropped)]
    path = write_lines(crawled[0] / "big.jsonl", big)
    with (small_disk / "pages.jsonl").open("a") as output:
        code, err = run_into(output, "restore", path, "--ledger", ledger)
    assert (code, "No space" in err) == (2, True)
    with LedgerReader(ledger) as reader:
        assert len(reader.crawls()) == 1
        assert reader.counts()["matches"] == 3
