"""What became of a page, in words, by what real crawls left."""

import json
import shutil

import commands
import pytest
from commands import COPIES, refused
from crawls import known_site
from ledgers import query
from texts import article, edited, page

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
    folder = tmp_path_factory.mktemp("left")
    with known_site(PAGES, folder) as site:
        site.crawl(DEDUP_DUPLICATES=folder / "dropped.jsonl")
        site.pages["/c"] = page(article(5))
        site.crawl(DEDUP_DUPLICATES=folder / "dropped.jsonl")
    return folder, site.url


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


# Of pages: what became of them, and what is said of that; ``{0}`` is the URL of the site.
BECAME = {
    "near": [("dropped", " as a near-duplicate at distance 2 of <{0}/a>, which is page 1.")],
    "equal": [("dropped", "It was dropped in crawl 2 of test on 20")],  # where it was found last
    "a": [
        ("stored", "as page 1, with 202 words. It was met again unchanged, last on 20"),
        (
            "repeated by others",
            "2 pages were found to repeat it:\n  <{0}/near> (near-duplicate, distance 2)\n"
            "  <{0}/equal> (exact-duplicate)",
        ),
    ],
    "b": [("stored", "as page ")],
    "c": [
        ("stored", " took its place on 20"),
        ("changed", "; it had changed since it was stored before."),
    ],
    "titled": [
        ("stored", "as page "),
        ("kept although alike", "main text matches that of <{0}/a>, page 1: other title."),
    ],
    "short": [("stored", "as page "), ("too short", "with fewer than 20 (DEDUP_MIN_TOKENS)")],
}


@pytest.mark.parametrize("name", BECAME)
def test_of_a_page_it_says_what_became_of_it_and_why(left, capsys, name):
    folder, url = left
    found = events(capsys, f"{url}/{name}", folder / "pages.sqlite")
    assert [event["what"] for event in found] == [what for what, _ in BECAME[name]]
    out = run(capsys, f"{url}/{name}", folder / "pages.sqlite")[1]
    for event, (_, words) in zip(found, BECAME[name], strict=True):
        assert words.format(url) in event["words"]
        assert event["words"] in out


def test_its_events_name_pages_and_verdicts(left, capsys):
    folder, url = left
    [dropped] = events(capsys, f"{url}/equal", folder / "pages.sqlite")
    assert (dropped["verdict"], dropped["original"]) == ("exact-duplicate", f"{url}/a")
    stored, _ = events(capsys, f"{url}/a", folder / "pages.sqlite")
    assert (stored["page"], stored["crawl"], stored["replaced_by"]) == (1, 1, None)
    before, after = events(capsys, f"{url}/c", folder / "pages.sqlite")
    assert before["replaced_by"] == after["page"]


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


def test_lines_that_are_no_dropped_items_are_passed_over(left, tmp_path, capsys):
    folder, url = left
    path = tmp_path / "dropped.jsonl"
    path.write_bytes(b'{"url": "torn\n' + (folder / "dropped.jsonl").read_bytes())
    assert "2 items of it were dropped" in run(capsys, f"{url}/near", path)[1]


def test_a_page_is_known_by_its_url_as_people_read_it(left, capsys):
    folder, url = left
    [event] = events(capsys, f"{url}/茶?x=1", folder / "pages.sqlite")
    assert event["what"] == "stored"


def test_expired_marked_and_restored_pages_are_told_apart(left, tmp_path, capsys):
    folder, url = left
    path = shutil.copy(folder / "pages.sqlite", tmp_path / "pages.sqlite")
    query(path, "UPDATE pages SET ended = seen + 100 WHERE url LIKE '%/a'")
    query(path, "UPDATE crawls SET report = json_set(report, '$.settings.DEDUP_ACTION', 'mark')")
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
