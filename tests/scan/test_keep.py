"""Which record of several copies is kept: criteria in order of precedence."""

import json

import pytest
from collections_on_disk import write_lines
from commands import refused, scanned, shown
from texts import article, page

TEXT, LONGER = article(1), f"{article(1)} and more"


def of(url, text=TEXT, **values):
    return {"url": url, "text": text, **values}


def kept(tmp_path, objects, keep, *options):
    source = write_lines(tmp_path / "in.jsonl", objects)
    code, places, _ = scanned(source, "--keep", keep, "--workers", 1, *options)
    assert code == 0
    return [objects[place] for place in places]


@pytest.mark.parametrize(
    ("keep", "best"),
    [
        ("first", 0),
        ("shorter-url", 2),
        ("canonical,longest", 4),
        ("canonical,https,longest", 1),
        ("newest-version,longest", 3),
        ("https,first", 1),
        (" clean-url , longest ", 4),
        ("dedup.preference.https,longest", 1),
    ],
)
def test_the_best_of_each_group_is_kept_by_criteria_in_their_order(tmp_path, keep, best):
    copies = [
        of("http://a/v1.0/b?x=1", canonical="http://a/b"),
        of("https://a/v1.0/b?x=1"),
        of("http://a/dev/b", canonical="http://a/b"),
        of("http://a/v1.9/b?x=1", canonical="http://a/b"),
        of("http://a/v1.0/longer", LONGER, canonical="http://a/v1.0/longer"),
    ]
    other = of("http://a/other", article(2))
    assert kept(tmp_path, [*copies, other], keep) == [copies[best], other]


@pytest.mark.slow
def test_html_names_its_canonical_url_itself(tmp_path):
    def html(url, canonical=None):
        link = f'<link rel="canonical" href="{canonical}">' if canonical else ""
        return {"url": url, "html": page(TEXT).replace("<title>", f"{link}<title>")}

    copy = html("http://a/b/print", "/b")
    best = html("http://a/b", "http://a/b")
    result = kept(tmp_path, [copy, best], "canonical", "--html-field", "html")
    assert result == [best]


def test_a_field_that_only_has_the_name_does_no_harm(tmp_path):
    objects = [of("http://a/1", canonical=True), of("http://a/2", canonical=["http://a/"])]
    assert kept(tmp_path, objects, "canonical") == objects[:1]
    assert kept(tmp_path, [of("http://[", canonical="x"), of("a", canonical="http://[")],
                "canonical,clean-url,newest-version,https,shorter-url")  # fmt: skip


def test_a_criterion_that_fails_names_the_record(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text("def broken(copy):\n    raise KeyError(copy.length)\n")
    monkeypatch.chdir(tmp_path)
    source = write_lines(tmp_path / "in.jsonl", [of("http://a/1", "text")])
    told = refused(capsys, "scan", source, "-o", "out.jsonl", "--keep", "mine.broken")
    assert "the preference of 'http://a/1': KeyError: 4" in told
    assert not (tmp_path / "out.jsonl").exists()


def dropped(item, original="http://a/first", **others):
    return {
        "url": item["url"], "verdict": "exact-duplicate", "original": original, "distance": None,
        "method": "simhash", "dropped": "2026-01-01T00:00:00+00:00", "item": item, **others,
    }  # fmt: skip


def test_dropped_items_are_read_and_written_as_the_feed_would_have_them(tmp_path, capsys):
    stored = [of("http://a/b;jsessionid=1"), of("http://a/c", article(2))]
    better, worse = (
        of("http://a/b", LONGER, title="Größe 水 \x81 \ud800 \U0001f600"),
        of("http://a/c?x=1", article(2)),
    )
    feed = write_lines(tmp_path / "pages.jsonl", stored)
    put_aside = write_lines(
        tmp_path / "dropped.jsonl", [dropped(better), dropped(worse, record={})]
    )
    target = tmp_path / "best.jsonl"
    options = "--keep", "clean-url,longest", "--clusters", tmp_path / "clusters"
    shown(capsys, "scan", feed, put_aside, "-o", target, *options)
    lines = target.read_bytes().splitlines()
    assert lines[0] == feed.read_bytes().splitlines()[1]
    assert [json.loads(line) for line in lines] == [stored[1], better]
    assert "水" in lines[1].decode()
    keys = [json.loads(line)["key"] for line in (tmp_path / "clusters").read_text().splitlines()]
    assert keys == ["http://a/c", "http://a/b"]


def test_a_record_that_has_an_item_of_its_own_is_no_dropped_one(tmp_path):
    own = [of("http://a/1", item={"text": "x"}, dropped="yes", verdict="good"),
           of("http://a/2", article(2), dropped=1, item=[1])]  # fmt: skip
    assert kept(tmp_path, own, "longest") == own


def test_a_file_of_sketches_has_what_the_criteria_need(tmp_path, monkeypatch):
    objects = [of(f"http://a/{n}", canonical="http://a/2") for n in range(4)]
    source = write_lines(tmp_path / "in.jsonl", objects)

    def kept(keep):
        return scanned(source, "--keep", keep, "--sketches", tmp_path / "sketches")[:2]

    assert kept("first") == (0, [0])
    monkeypatch.setattr("dedup.scan.record_stream.read_raws", None)  # nothing is read again
    for keep, best in (("canonical", 2), ("longest", 0), ("canonical,longest", 2)):
        assert kept(keep) == (0, [best])
