"""What became of a page, in words, by what real crawls left."""

import json
import sqlite3
from contextlib import closing

import commands
import pytest
from cases import each
from commands import COPIES, refused
from crawls import crawl, spider_over
from texts import article, edited, page
from web import served

from dedup.cli import main

PAGES = {
    **COPIES,
    "/b": page(article(2)),
    "/c": page(article(3)),
    "/empty": "",
    "/short": page("A few words."),
    "/%E8%8C%B6?x=1": page(article(4)),
    "/titled": page(edited(article(1)), title="Another").replace("<h1>", "<h1>Other "),
}


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """What two crawls left, the second with a changed page: the folder, and the URL of the site."""
    folder, pages = tmp_path_factory.mktemp("left"), dict(PAGES)
    with served(pages) as url:
        spider = spider_over(*(url + path for path in pages))
        settings = {
            "DEDUP_INDEX": folder / "pages.sqlite", "DEDUP_DUPLICATES": folder / "dropped.jsonl",
            "DEDUP_REPORT": folder / "reports",
        }  # fmt: skip
        crawl(spider, **settings)
        pages["/c"] = page(article(5))
        crawl(spider, **settings)
    return folder, url


def run(capsys, url, *sources, options=()):
    """Ask the *sources*: ledgers, and files of dropped items."""
    asked = []
    for source in sources:
        asked += ["--ledger" if source.suffix == ".sqlite" else "--items", source]
    return commands.run(capsys, "explain", url, *asked, *options)


def events(capsys, url, *sources):
    code, out, _ = run(capsys, url, *sources, options=["--json"])
    found = json.loads(out)
    assert (code == 0) == found["known"]
    return [event for source in found["sources"] for event in source["events"]]


def test_of_a_dropped_page_it_says_for_which_one_and_how_near(left, capsys):
    folder, url = left
    code, out, _ = run(capsys, f"{url}/near", folder / "pages.sqlite")
    assert code == 0
    assert f" as a near-duplicate at distance 2 of <{url}/a>, which is page 1.\n" in out
    assert "It was dropped in crawl 2 of test on 20" in out  # where it was found last
    [event] = events(capsys, f"{url}/equal", folder / "pages.sqlite")
    assert (event["what"], event["verdict"], event["original"]) == (
        "dropped", "exact-duplicate", f"{url}/a"
    )  # fmt: skip
    assert f"as an exact duplicate of <{url}/a>, which is page 1." in event["words"]


def test_of_a_stored_page_it_says_when_and_what_repeats_it(left, capsys):
    folder, url = left
    stored, repeated = events(capsys, f"{url}/a", folder / "pages.sqlite")
    assert stored["what"] == "stored"
    assert (stored["page"], stored["crawl"], stored["replaced_by"]) == (1, 1, None)
    assert "as page 1, with 202 words. It was met again unchanged, last on 20" in stored["words"]
    assert repeated["words"] == (
        f"2 pages were found to repeat it:\n  <{url}/near> (near-duplicate, distance 2)\n"
        f"  <{url}/equal> (exact-duplicate)"
    )


def test_of_a_changed_page_it_says_what_took_its_place(left, capsys):
    folder, url = left
    before, after = events(capsys, f"{url}/c", folder / "pages.sqlite")
    assert (before["what"], after["what"]) == ("stored", "changed")
    assert before["replaced_by"] == after["page"]
    assert f" Page {after['page']} took its place on 20" in before["words"]
    assert "; it had changed since it was stored before." in after["words"]


def test_of_a_page_that_is_kept_although_it_is_alike_it_says_why(left, capsys):
    folder, url = left
    stored, alike = events(capsys, f"{url}/titled", folder / "pages.sqlite")
    assert stored["what"] == "stored"
    assert alike["what"] == "kept although alike"
    assert alike["words"] == (
        f"It is kept although its main text matches that of <{url}/a>, page 1: other title."
    )


def test_of_a_short_page_it_says_so(left, capsys):
    folder, url = left
    _, short = events(capsys, f"{url}/short", folder / "pages.sqlite")
    assert short["words"].startswith("It has ")
    assert "with fewer than 20 (DEDUP_MIN_TOKENS)" in short["words"]
    assert len(events(capsys, f"{url}/b", folder / "pages.sqlite")) == 1


def test_several_sources_are_asked_at_once(left, capsys):
    folder, url = left
    sources = folder / "pages.sqlite", folder / "dropped.jsonl"
    code, out, _ = run(capsys, f"{url}/empty", sources[0])
    assert (code, "Nothing is known of it. Pages that were not compared" in out) == (1, True)
    code, out, _ = run(capsys, f"{url}/near", *sources)
    assert code == 0
    assert out.index(f"\n{sources[0]}\n") < out.index(f"\n{sources[1]}\n")
    assert "2 items of it were dropped, last on 20" in out
    assert (
        f"as a near-duplicate at distance 2 of <{url}/a> (simhash). dedup restore has them" in out
    )
    words = [event["words"] for event in events(capsys, f"{url}/a", *sources)]
    assert words[1].startswith("2 pages were found to repeat it:\n")
    assert words[2].startswith("4 items were found to repeat it:\n")  # two crawls


@each(
    ("asked", "known"),
    [("/A/", "/a"), ("/a?utm=1#part", "/a"), ("/茶/", "/%E8%8C%B6?x=1"), ("/folder/near", "/near")],
)
def test_of_an_unknown_page_the_nearest_known_ones_are_named(left, capsys, asked, known):
    folder, url = left
    [event] = events(capsys, f"{url}/茶?x=1", folder / "pages.sqlite")  # decoded, it is known
    assert event["what"] == "stored"
    for site in (url, "https://other.example"):
        code, out, _ = run(capsys, site + asked, folder / "pages.sqlite")
        assert code == 1
        assert f"\nThe nearest URLs that are known\n<{url}{known}>\n" in out


def test_expired_marked_and_restored_pages_are_told_apart(left, tmp_path, capsys):
    folder, url = left
    path = tmp_path / "pages.sqlite"
    with (
        closing(sqlite3.connect(folder / "pages.sqlite")) as file,
        closing(sqlite3.connect(path)) as copy,
        copy,
    ):
        file.backup(copy)
        copy.execute("UPDATE pages SET ended = seen + 100 WHERE url LIKE '%/a'")
        copy.execute(
            "UPDATE crawls SET report = json_set(report, '$.settings.DEDUP_ACTION', 'mark')"
        )
    [expired, _] = events(capsys, f"{url}/a", path)
    assert "It expired on 20" in expired["words"]
    [marked] = events(capsys, f"{url}/near", path)
    assert marked["what"] == "marked"
    assert "It was marked, and stored, in crawl 2 of test on 20" in marked["words"]
    assert "That page does not count since 20" in marked["words"]
    asked = "--url", "*/near", "--ledger", str(path)
    main(["restore", str(folder / "dropped.jsonl"), *asked])
    capsys.readouterr()
    restored, *_ = events(capsys, f"{url}/near", path)
    assert restored["what"] == "restored"
    assert "It was restored in crawl 3 of dropped.jsonl on 20" in restored["words"]


def test_however_many_copies_there_are_the_output_is_bounded(tmp_path, capsys):
    line = {
        "verdict": "near-duplicate", "original": "http://a/", "distance": 3, "method": "simhash",
        "dropped": "2026-01-01T00:00:00+00:00", "item": {},
    }  # fmt: skip
    lines = (json.dumps({**line, "url": f"http://a/{n}/x"}) for n in range(1000))
    path = tmp_path / "dropped"
    path.write_text("\n".join(lines) + '\n{"to')
    code, out, _ = run(capsys, "http://a/", path)
    assert code == 0
    assert "1,000 items were found to repeat it:\n" in out
    assert "\n  and 990 more\n" in out
    assert len(out.splitlines()) < 20
    assert len(run(capsys, "http://b/x", path)[1].splitlines()) < 20


def test_what_is_no_source_is_refused(left, tmp_path, capsys):
    _, url = left
    others = {"feed.jsonl": '{"url": "http://a/"}\n', "text.txt": "text"}
    for name, text in others.items():
        (tmp_path / name).write_text(text)
        refused(capsys, "explain", url, "--items", tmp_path / name)
    refused(capsys, "explain", url, "--ledger", tmp_path / "text.txt")
    refused(capsys, "explain", url, "--items", tmp_path / "none.jsonl")
    assert refused(capsys, "explain", url).startswith("one page needs --ledger or --items")
    (tmp_path / "empty.jsonl").write_text("")
    assert run(capsys, url, tmp_path / "empty.jsonl")[0] == 1


def test_nothing_steers_the_terminal(tmp_path, capsys):
    line = {
        "url": "http://a/\x1b[31m", "verdict": "near-duplicate", "original": "http://b/\x1b\n",
        "distance": 1, "method": "\x1b", "dropped": "\x1b", "item": {},
    }  # fmt: skip
    (tmp_path / "dropped").write_text(json.dumps(line))
    for asked in (line["url"], line["original"], "http://c/\x1b[31m"):
        assert "\x1b" not in run(capsys, asked, tmp_path / "dropped")[1]
