"""The commands with a method that simplifies Chinese."""

import json
import sys

import pytest
from commands import run
from crawls import crawl, spider_over
from labelled import write
from texts import CHINESE, TRADITIONAL_CHINESE, page
from web import served

SIMPLIFYING = {"name": "simhash", "simplify_chinese": True}
WITH_IT = ("--method", json.dumps(SIMPLIFYING))
SITE = {"/cn": page(CHINESE, title="迁徙"), "/tw": page(TRADITIONAL_CHINESE, title="遷徙")}


@pytest.fixture
def feed(tmp_path):
    """A JSONL feed with a page in both scripts."""
    path = tmp_path / "pages.jsonl"
    pages = [{"url": "cn", "text": CHINESE}, {"url": "tw", "text": TRADITIONAL_CHINESE}]
    path.write_text("".join(f"{json.dumps(page)}\n" for page in pages))
    return path


def test_a_scan_keeps_one_of_both_as_it_is_and_goes_on_with_it_only(feed, tmp_path, capsys):
    output, *kept = tmp_path / "unique.jsonl", 1, 2
    sketches = ("--sketches", tmp_path / "sketches")
    for options in ((*WITH_IT, *sketches), ()):
        assert run(capsys, "scan", feed, "-o", output, "--workers", 1, *options)[0] == 0
        assert output.read_text().splitlines() == feed.read_text().splitlines()[: kept.pop(0)]
        output.unlink()
    code, _, told = run(capsys, "scan", feed, "-o", output, *sketches)
    assert (code, "simplify_chinese True there, missing here" in told) == (2, True)


def test_both_are_explained_as_a_crawl_would_see_them(tmp_path, capsys):
    one, other = tmp_path / "cn.html", tmp_path / "tw.html"
    one.write_text(SITE["/cn"], "utf-8")
    other.write_text(SITE["/tw"], "utf-8")
    verdicts = []
    for options in ((), WITH_IT):
        code, out, _ = run(capsys, "explain", one, other, "--json", *options)
        assert code == 0
        verdicts.append(json.loads(out)["judgement"]["verdict"])
    assert verdicts == ["different", "duplicate"]


def test_methods_are_scored_with_it(tmp_path, capsys):
    collection = write(
        tmp_path / "both", {"cn": CHINESE, "tw": TRADITIONAL_CHINESE}, [("cn", "tw", "dup")]
    )
    found = []
    for options in ((), WITH_IT):
        code, out, _ = run(capsys, "evaluate", collection, "--json", *options)
        assert code == 0
        found.append(json.loads(out)[0]["pairs_found"])
    assert found == [0, 1]


def test_a_ledger_is_converted_to_it_and_back(tmp_path, capsys):
    ledger, feed = tmp_path / "pages.sqlite", tmp_path / "pages.jsonl"
    with_it, back = tmp_path / "with.sqlite", tmp_path / "back.sqlite"

    def stored(index, **settings):
        spider = spider_over(url + "/cn", url + "/tw")
        result = crawl(spider, DEDUP_INDEX=index, **settings)
        return [item["url"].removeprefix(url) for item in result.items]

    with served(SITE) as url:
        crawl(
            spider_over(url + "/cn"), DEDUP_INDEX=ledger, DEDUP_FIELDS={"text": "text"},
            FEEDS={str(feed): {"format": "jsonlines"}},
        )  # fmt: skip
        code, out, _ = run(capsys, "ledger", ledger, "-o", with_it, *WITH_IT, "--texts", feed)
        assert (code, out) == (0, f"{with_it}: 1 page\n")
        code, out, _ = run(
            capsys, "ledger", with_it, "-o", back, "--method", "simhash", "--texts", feed
        )  # fmt: skip
        assert (code, out) == (0, f"{back}: 1 page\n")
        assert stored(with_it, DEDUP_METHOD=SIMPLIFYING) == []
        assert stored(back) == ["/tw"]
    assert "simplify_chinese=True" in run(capsys, "report", with_it)[1]
    assert run(capsys, "report", with_it, "-o", tmp_path / "report.html")[0] == 0


def test_wrong_use_is_told(feed, tmp_path, capsys, monkeypatch):
    method = '{"name": "simhash", "simplify_chinese": 1}'
    _, _, told = run(capsys, "scan", feed, "-o", tmp_path / "c", "--method", method)
    assert "--method must have True or False as simplify_chinese" in told
    monkeypatch.setitem(sys.modules, "opencc", None)
    code, _, told = run(capsys, "scan", feed, "-o", tmp_path / "c", *WITH_IT)
    assert code
    assert "simplify_chinese needs OpenCC: pip install 'scrapy-dedup[opencc]'" in told
