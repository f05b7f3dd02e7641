"""A secret in crawls: what it changes, and that it is nowhere to be seen."""

import json
import logging
from pathlib import Path

import pytest
from bad_extractors import extracting_unless_told
from crawls import crawl_site
from scrapy.settings import Settings
from texts import article, edited, page

from dedup.methods.keyed import KeyedHashing
from dedup.page import PageReader
from dedup.scrapy_plugin.settings import DedupSettings, SettingError
from dedup.stores.reader import LedgerReader
from dedup.workers import WorkerPool

SECRET = "correct horse battery staple"
SITE = {
    "/a": page(article(1)),
    "/b": page(article(1)),
    "/near": page(edited(article(1))),
    "/other": page(article(2)),
    "/raise": f"raise {page(article(3))}",
    "/crash": f"crash {page(article(4))}",
}


def read(**settings):
    return DedupSettings.from_settings(Settings(settings))


def shown_of(result):
    """All that a crawl logged, with tracebacks, and its stats."""
    formatter = logging.Formatter()
    return "\n".join([*map(formatter.format, result.log), repr(result.stats)])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_it_is_in_no_log_report_ledger_feed_or_stat(tmp_path, workers, monkeypatch):
    monkeypatch.setenv("DEDUP_SECRET", SECRET)
    site = {path: body for path, body in SITE.items() if workers or path != "/crash"}
    feed = {str(tmp_path / "pages.jsonl"): {"format": "jsonlines"}}
    result = crawl_site(
        site, DEDUP_WORKERS=workers, DEDUP_EXTRACTOR=extracting_unless_told, FEEDS=feed,
        DEDUP_FIELDS={"text": "text"}, DEDUP_REPORT=str(tmp_path / "reports"),
        DEDUP_INDEX=tmp_path / "pages.sqlite", DEDUP_DUPLICATES=tmp_path / "dropped.jsonl",
        DEDUP_SKETCH_FIELD="dedup_record",
    )  # fmt: skip
    assert result.stats["dedup/exact_duplicates"] == 1
    assert result.stats["dedup/unread/error"] == 1
    log = shown_of(result)
    assert "Overridden settings" in log
    assert "Dedup report:" in log
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    [report] = tmp_path.glob("reports/*Z.json")
    assert json.loads(report.read_text())["settings"]["DEDUP_SECRET"] == "set"
    assert {path.suffix for path in files} >= {".jsonl", ".json", ".html", ".sqlite"}
    key = KeyedHashing(SECRET)._key
    for content in (log.encode(), *(path.read_bytes() for path in files)):
        for secret in (SECRET.encode(), SECRET.split()[1].encode(), key, key.hex().encode()):
            assert secret not in content
    digest = KeyedHashing(SECRET).secret_digest
    assert "made_with" in (tmp_path / "pages.jsonl").read_text()
    assert digest not in (tmp_path / "pages.jsonl").read_text()
    with LedgerReader(tmp_path / "pages.sqlite") as ledger:
        assert ledger.identity["secret"] == digest


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_worker_has_it_neither_in_its_arguments_nor_in_its_environment(monkeypatch):
    monkeypatch.setenv("DEDUP_SECRET", SECRET)
    settings = read()
    pool = WorkerPool(PageReader(settings.extractor, settings.method))
    pool.start()
    try:
        sketch = pool.submit(PageReader.read_html, SITE["/a"]).result(60).record.sketch
        [process] = [worker.process.pid for worker in pool._workers]
        for file in ("environ", "cmdline"):
            content = Path(f"/proc/{process}/{file}").read_bytes()
            assert content
            assert b"DEDUP_SECRET" not in content
            assert SECRET.encode() not in content
    finally:
        pool.close()
    reader = PageReader(settings.extractor, settings.method)
    assert sketch == reader.read_html(SITE["/a"]).record.sketch
    monkeypatch.delenv("DEDUP_SECRET")
    without = PageReader(settings.extractor, read().method)
    assert sketch != without.read_html(SITE["/a"]).record.sketch


def test_it_is_of_the_environment(monkeypatch):
    assert read().method.hashing.secret_digest is None
    digest = KeyedHashing(SECRET).secret_digest
    monkeypatch.setenv("DEDUP_SECRET", f"{SECRET}\n")
    assert read().identity["secret"] == digest
    assert read().shown["DEDUP_SECRET"] == "set"
    assert SECRET.split()[1] not in f"{read()!r} {read().shown} {read().identity}"
    monkeypatch.setenv("DEDUP_SECRET", SECRET[::-1])
    assert read().identity["secret"] != digest
    monkeypatch.setenv("DEDUP_SECRET", "")
    assert "secret" not in read().identity


@pytest.mark.parametrize("value", ["too-short", "  "])
def test_a_wrong_one_is_refused_and_not_told(value, caplog, monkeypatch):
    monkeypatch.setenv("DEDUP_SECRET", value)
    with pytest.raises(SettingError, match=r"DEDUP_SECRET.* must ") as refused:
        read()
    error = refused.value
    while error:
        assert "too-short" not in str(error)
        error = error.__cause__ or error.__context__
    assert not caplog.messages


def test_a_setting_that_has_it_is_refused_without_telling_it():
    with pytest.raises(SettingError, match="environment variable DEDUP_SECRET") as refused:
        read(DEDUP_SECRET=SECRET)
    assert SECRET not in str(refused.value)
