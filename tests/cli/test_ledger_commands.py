"""The commands that look at the ledger of real crawls."""

import re
import shutil

import pytest
from cases import each
from commands import TOWN, json_of, refused, run, shown
from crawls import crawl_site, known_site
from ledgers import query
from texts import article, edited, page, replaced

from dedup.stores import SqliteStore
from dedup.stores.reader import LedgerReader


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """The ledger of two crawls, the second with a changed page, and the URL of the site."""
    with known_site(TOWN, tmp_path_factory.mktemp("town")) as site:
        site.crawl()
        site.pages["/c"] = page(article(3))
        site.crawl()
    return site.ledger, site.url


def copied(town, path, change):
    """A copy of the ledger at *path*, with a change in SQL."""
    shutil.copy(town[0], path)
    query(path, change)
    return path


@pytest.mark.slow
def test_a_report_is_made_of_all_crawls_together_by_what_their_ledger_knows(town, tmp_path, capsys):
    earlier = "UPDATE crawls SET started = 1600000000 WHERE id = 1"
    ledger, path = copied(town, tmp_path / "pages.sqlite", earlier), tmp_path / "report.html"
    # Two new ones and two copies; then a change, and /d, which is new.
    assert shown(capsys, "report", ledger, "-o", path) == f"{path}: 6 pages, 2 groups\n"
    html = path.read_text()
    for known in (
        "Duplicates in the ledger (2 crawls)",
        "<title>test 2020-09-13 – ",
        '<time datetime="2020-09-13T12:26:40+00:00">',
        "The first",
        f"{town[1]}/d",
        '"+ otherwise"',  # of the difference between /a and its copy
        "Kept pages looked at: 3.",  # /a, and what /c and /d have by now
        "URL advice was not gathered.",
    ):
        assert known in html
    for unknown in ("not stored again", "a second"):
        assert unknown not in html


@pytest.mark.slow
def test_a_ledger_may_be_named_as_in_dedup_index(town, capsys):
    ledger, url = town
    named = f"sqlite:///{ledger}?share=1&commit=passed"
    assert shown(capsys, "report", named) == shown(capsys, "report", ledger)
    out = shown(capsys, "explain", f"{url}/a", "--ledger", named)
    assert "It was stored in crawl 1" in out
    with pytest.raises(SystemExit, match="2"):
        run(capsys, "report", "sqlite://pages.sqlite")
    assert "must be such as sqlite:///pages.sqlite?share=1" in capsys.readouterr().err


@pytest.mark.slow
def test_a_report_of_all_crawls_has_each_duplicate_once_and_no_page_beside_itself(tmp_path, capsys):
    pages = {"/c": page(article(2)), "/a": page(article(1)), "/b": page(article(1))}
    path = tmp_path / "report.html"
    with known_site(pages, tmp_path) as site:
        site.crawl()
        # /b repeats another page now, and /a is near its earlier self.
        site.pages |= {"/a": page(replaced(article(1), 8)), "/b": page(article(2))}
        site.crawl()
    with LedgerReader(site.ledger) as reader:
        everything = [match for number in (1, 2) for match in reader.matches(number)]
        assert len(everything) == 2
        [last] = reader.matches()
        assert (last.duplicate, last.crawl) == (f"{site.url}/b", 2)
    out = shown(capsys, "report", site.ledger, "-o", path)
    assert out.endswith(": 4 pages, 1 group\n")
    pairs = re.findall(r'<div class="urls"><div>(.*?)</div><div>(.*?)</div>', path.read_text())
    assert all(one != other for one, other in pairs)


@pytest.mark.slow
def test_crawls_that_shared_a_ledger_are_reported_together(town, tmp_path, capsys):
    ledger, path = tmp_path / "pages.sqlite", tmp_path / "report.html"
    copied(town, ledger, "UPDATE crawls SET run = 1")
    for crawl_number in 1, 2:
        how = ("report", ledger, "-o", path, "--crawl", crawl_number)
        assert shown(capsys, *how) == f"{path}: 6 pages, 2 groups\n"
        path.unlink()
    shown(capsys, "report", ledger, "-o", path)
    assert re.search(r"Duplicates in the ledger \(1 crawls?\)", path.read_text())
    out = shown(capsys, "report", ledger)
    assert re.search(r"^crawl +run +spider", out, re.MULTILINE)
    assert re.findall(r"^(\d) +(\d) +test ", out, re.MULTILINE) == [("1", "1"), ("2", "1")]


@pytest.mark.parametrize(
    ("change", "looked_at"),
    [
        ("UPDATE crawls SET started = 4e9", 3),  # by a clock that was set back
        ("UPDATE about SET value = json_set(value, '$.version', 99) WHERE name = 'identity'", 0),
        ("UPDATE crawls SET report = json_set(report, '$.settings.DEDUP_MAX_DISTANCE', 1000)", 0),
    ],
)
def test_ledgers_of_other_times_have_a_report_too(town, tmp_path, capsys, change, looked_at):
    ledger, html = copied(town, tmp_path / "pages.sqlite", change), tmp_path / "r.html"
    assert shown(capsys, "report", ledger, "-o", html) == f"{html}: 6 pages, 2 groups\n"
    assert f"Kept pages looked at: {looked_at}." in html.read_text()
    assert "<dd>-" not in html.read_text()


def test_a_report_of_one_crawl_is_what_that_reported(town, tmp_path, capsys):
    ledger, url = town
    path = tmp_path / "report.html"
    shown(capsys, "report", ledger, "-o", path, "--crawl", 2)
    html = path.read_text()
    with LedgerReader(ledger) as reader:
        report = reader.crawls()[1].report
    assert report["pages"]["changed"] == 1
    assert 'id="revisits"' in html
    assert f"{url}/c" in html


IDENTITY = "about WHERE name = 'identity'"
WRITTEN = ["-o", "r.html"]


@each(
    ("damage", "options"),
    [
        ("UPDATE pages SET sketch = 'text'", WRITTEN),
        ("UPDATE pages SET sketch = substr(sketch, 2) WHERE id = 1", WRITTEN),
        ("UPDATE matches SET kind = 'foo-duplicate'", WRITTEN),
        (f"DELETE FROM {IDENTITY}", WRITTEN),
        (f"DELETE FROM {IDENTITY}", []),
        ("UPDATE about SET value = '{}' WHERE name = 'identity'", []),
        ("UPDATE crawls SET report = '{'", []),
        ("UPDATE crawls SET report = json_remove(report, '$.pages')", [*WRITTEN, "--crawl", "2"]),
        ("UPDATE crawls SET report = '[1]'", [*WRITTEN, "--crawl", "2"]),
    ],
)
def test_a_damaged_ledger_gives_no_report(town, tmp_path, capsys, monkeypatch, damage, options):
    monkeypatch.chdir(tmp_path)
    copied(town, "pages.sqlite", damage)
    assert "pages.sqlite is damaged (" in refused(capsys, "report", "pages.sqlite", *options)
    assert not (tmp_path / "r.html").exists()


def test_a_crawl_without_a_report_is_made_of_its_pages(town, tmp_path, capsys):
    change = "UPDATE crawls SET report = NULL, finished = NULL WHERE id = 2"
    killed = copied(town, tmp_path / "killed.sqlite", change)
    out = shown(capsys, "report", killed, "-o", tmp_path / "r.html", "--crawl", 2)
    assert out == f"{tmp_path / 'r.html'}: 3 pages, 1 group\n"


def test_two_pages_of_a_ledger_are_explained_and_its_texts_can_be_judged(town, tmp_path, capsys):
    ledger, url = town
    pairs = tmp_path / "pairs.tsv"
    shown(capsys, "evaluate", ledger, "--sample", 60, "-o", pairs)
    assert f"{url}/b" in pairs.read_text()
    explained = json_of(capsys, "explain", "--ledger", ledger, f"{url}/a", f"{url}/b")
    assert explained["a"]["title"] == "The first"
    by_method = {judgement["method"]: judgement for judgement in explained["judgements"]}
    assert by_method["simhash"]["verdict"] == "near-duplicate"


def test_what_the_items_of_a_dropped_page_said_is_not_known_and_does_not_count(tmp_path, capsys):
    def parse(self, response):
        yield {"url": response.url, "name": "Tea"}

    with known_site({"/a": page(article(1)), "/b": page(edited(article(1)))}, tmp_path) as site:
        assert len(site.crawl(parse=parse).items) == 1
    for pair in ("ab", "ba"):
        urls = (f"{site.url}/{name}" for name in pair)
        explained = json_of(capsys, "explain", "--ledger", site.ledger, *urls)
        assert explained["judgement"]["verdict"] == "near-duplicate"


@each(
    ("arguments", "message"),
    [
        (["report", "LEDGER", "-o", "OUT", "--crawl", "7"], "--crawl must be one of 1, 2, got 7"),
        (["report", "missing", "-o", "OUT"], "missing is no file"),
        (["report", "EMPTY", "-o", "OUT"], "has no crawls"),
        (["report", "LEDGER", "-o", "LEDGER"], "exists: remove it, or choose another name"),
        (["explain", "--ledger", "LEDGER", "http://x/", "http://y/"], "has no text of http://x/"),
        (["explain", "--ledger", "missing", "http://x/", "http://y/"], "missing is no file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(town, tmp_path, capsys, arguments, message):
    empty = tmp_path / "empty.sqlite"
    if not empty.exists():
        SqliteStore(empty, {"method": "simhash"}).close()
    names = {"LEDGER": town[0], "EMPTY": empty, "OUT": tmp_path / "out.html"}
    assert message in refused(capsys, *(names.get(name, name) for name in arguments))
    assert not names["OUT"].exists()


@pytest.mark.slow
def test_of_long_pages_the_beginnings_are_explained(tmp_path, capsys):
    ledger = tmp_path / "pages.sqlite"
    text = article(1, words=9000)
    url = crawl_site({"/a": page(text), "/b": page(edited(text))}, DEDUP_INDEX=ledger).url
    asked = "explain", "--ledger", ledger, f"{url}/a", f"{url}/b"
    notes = [
        f"Of {name}, the ledger has the first 40,000 characters: all figures are of these."
        for name in "AB"
    ]
    assert shown(capsys, *asked).splitlines()[1:3] == notes
    explained = json_of(capsys, *asked)
    assert (explained["notes"], explained["a"]["characters"]) == (notes, 40_000)


@pytest.mark.parametrize("prefer", [["canonical"], []])
def test_a_reprint_is_explained_as_what_the_crawl_makes_of_it(tmp_path, capsys, prefer):
    reprint = page(edited(article(1)), title="A cup")
    reprint = reprint.replace("<head>", '<head><link rel="canonical" href="/a">')
    site = {"/a": page(article(1), title="Tea"), "/b": reprint}
    with known_site(site, tmp_path) as known:
        a, b = known.url + "/a", known.url + "/b"
        result = known.crawl(DEDUP_PREFER=prefer)
        fetched = shown(capsys, "explain", a, b).splitlines()
        swapped = shown(capsys, "explain", b, a).splitlines()
        explained = json_of(capsys, "explain", a, b)
    assert [item["url"] for item in result.items] == ([a] if prefer else [a, b])
    assert fetched[0] == swapped[0] == "simhash: kept (other title), distance 2 of up to 3."
    assert "which page is canonical" in fetched[1]
    assert fetched[5].split() == ["canonical", "–", a]
    assert [explained[side]["canonical"] for side in "ab"] == [None, a]
    told = shown(capsys, "explain", "--ledger", known.ledger, a, b)
    assert told.startswith(f"simhash: {'near-duplicate' if prefer else 'kept (other title)'}, ")


@pytest.mark.parametrize(("min_tokens", "found"), [(20, True), (500, False)])
def test_near_misses_of_a_ledger_are_sought_by_the_last_settings(
    tmp_path, capsys, min_tokens, found
):
    html, pages = tmp_path / "report.html", {"/a": TOWN["/a"], "/b": TOWN["/b"]}
    with known_site(pages, tmp_path) as site:
        for distance in (0, 1):
            settings = {"DEDUP_MAX_DISTANCE": distance, "DEDUP_MIN_TOKENS": min_tokens}
            site.crawl(DEDUP_SCOPE="host", **settings)
    shown(capsys, "report", site.ledger, "-o", html)
    assert ('<span class="badge">2</span>' in html.read_text()) == found
    assert re.search(r"<code>DEDUP_MAX_DISTANCE</code></th><td [^>]*>1</td>", html.read_text())
