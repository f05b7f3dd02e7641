"""The commands with a method that simplifies Chinese."""

import json
import sys

from collections_on_disk import write_lines
from commands import json_of, refused, shown
from crawls import known_site
from labelled import write
from texts import CHINESE, TRADITIONAL_CHINESE, page

SIMPLIFYING = {"name": "simhash", "simplify_chinese": True}
WITH_IT, WITHOUT = ("--method", json.dumps(SIMPLIFYING)), ("--method", "simhash")
SITE = {"/cn": page(CHINESE, title="迁徙"), "/tw": page(TRADITIONAL_CHINESE, title="遷徙")}


def test_both_are_explained_and_methods_scored_as_a_crawl_would_see_them(tmp_path, capsys):
    texts = {"cn": CHINESE, "tw": TRADITIONAL_CHINESE}
    collection = write(tmp_path / "both", texts, [("cn", "tw", "dup")])
    one, other = (tmp_path / f"{name}.html" for name in texts)
    for path in one, other:
        path.write_text(SITE[f"/{path.stem}"], "utf-8")
    for how, verdict, found in ((WITHOUT, "different", 0), (WITH_IT, "duplicate", 1)):
        explained = json_of(capsys, "explain", one, other, *how)
        assert explained["judgement"]["verdict"] == verdict
        [scored] = json_of(capsys, "evaluate", collection, *how)
        assert scored["pairs_found"] == found


def test_a_ledger_is_converted_to_it_and_back(tmp_path, capsys):
    ledger, feed = tmp_path / "pages.sqlite", tmp_path / "pages.jsonl"
    with_it, back = tmp_path / "with.sqlite", tmp_path / "back.sqlite"

    feeds = {str(feed): {"format": "jsonlines"}}
    fields = {"text": "text"}
    with known_site(SITE, tmp_path) as site:
        site.crawl("/cn", DEDUP_FIELDS=fields, FEEDS=feeds)
        for made, new, how in ((ledger, with_it, WITH_IT), (with_it, back, WITHOUT)):
            out = shown(capsys, "ledger", made, "-o", new, *how, "--texts", feed)
            assert out == f"{new}: 1 page\n"
        simplifying = {"DEDUP_INDEX": with_it, "DEDUP_METHOD": SIMPLIFYING}
        assert site.crawl(DEDUP_FIELDS=fields, **simplifying).stored == []
        assert site.crawl(DEDUP_FIELDS=fields, DEDUP_INDEX=back).stored == ["/tw"]
    assert "simplify_chinese=True" in shown(capsys, "report", with_it)
    shown(capsys, "report", with_it, "-o", tmp_path / "report.html")


def test_wrong_use_is_told(tmp_path, capsys, monkeypatch):
    feed = write_lines(tmp_path / "pages.jsonl", [{"text": CHINESE}])
    method = '{"name": "simhash", "simplify_chinese": 1}'
    told = refused(capsys, "scan", feed, "-o", tmp_path / "c", "--method", method)
    assert "--method must have True or False as simplify_chinese" in told
    monkeypatch.setitem(sys.modules, "opencc", None)
    told = refused(capsys, "scan", feed, "-o", tmp_path / "c", *WITH_IT)
    assert "simplify_chinese needs OpenCC: pip install 'scrapy-dedup[opencc]'" in told
