"""Feeds that are overwritten, with a ledger that goes on to know what was in them."""

import os
from pathlib import Path
from typing import Any

import pytest
from crawls import crawl_site, known_site, query, urls_in
from scrapy.extensions.feedexport import FileFeedStorage, FTPFeedStorage
from texts import article, page

SITE = {"/a": page(article(1)), "/b": page(article(2))}


def test_a_local_file_with_items_is_not_overwritten(tmp_path: Path):
    uri = f"file://{tmp_path}/%(name)s%20words-%(batch_id)d.jl"
    options = {"format": "jsonlines", "overwrite": True, "batch_item_count": 1}
    settings = {"DEDUP_INDEX": tmp_path / "pages.sqlite", "FEEDS": {uri: options}}
    crawl_site(SITE, keep_items=False, **settings)
    path = tmp_path / "test words-1.jl"
    content = path.read_bytes()
    refused = crawl_site(SITE, keep_items=False, **settings)
    assert refused.stats["finish_reason"] == "dedup_overwritten_feed"
    assert "downloader/request_count" not in refused.stats
    [message] = [one for one in refused.messages() if "overwrit" in one]
    assert message.startswith(f"The crawl does not start: it would overwrite {path}, and ")
    assert path.read_bytes() == content
    assert query(settings["DEDUP_INDEX"], "SELECT count(*) FROM crawls") == [(1,)]


@pytest.mark.parametrize("way", [{"DEDUP_REVISITS": "keep"}, {"DEDUP_ACTION": "mark"}, "reset"])
def test_it_is_where_everything_is_stored_again(tmp_path: Path, way: Any):
    feeds = {f"{tmp_path}/pages.jl": {"format": "jsonlines", "overwrite": True}}
    settings = way if isinstance(way, dict) else {}
    with known_site(SITE, tmp_path) as site:
        for reset in (False, way == "reset"):
            result = site.crawl(dedup_reset=reset, FEEDS=feeds, keep_items=False, **settings)
            assert result.stats["finish_reason"] == "finished"
            assert urls_in(tmp_path / "pages.jl") == ["/a", "/b"]


class Ftp(FTPFeedStorage):
    """Scrapy's own, without the upload."""

    def _store_in_thread(self, file: Any) -> None:
        file.close()


class OwnFile(FileFeedStorage):
    """Derived from Scrapy's, with a constructor of its own, so that it does not know its mode."""

    def __init__(self, uri: str, *, feed_options: Any = None) -> None: ...

    def open(self, spider: Any) -> Any:
        return open(os.devnull, "wb")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("uri", "options", "shown"),
    [
        ("ftp://me:secret@127.0.0.1/%(name)s.jl", {}, "ftp://127.0.0.1/test.jl"),
        ("ftp://127.0.0.1/pages.jl", {"overwrite": False}, ""),
        ("ftp://127.0.0.1/%(time)s.jl", {}, ""),
        ("ftp://127.0.0.1/%(batch_time)s.jl", {}, ""),
        ("own://pages.jl", {}, "own://pages.jl"),
        ("stdout:", {"overwrite": True}, ""),
        ("pages.jl", {}, ""),
    ],
)
def test_a_feed_elsewhere_that_may_be_overwritten_is_warned_of_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str, options: Any, shown: str
):
    """And no file that is appended to."""
    monkeypatch.chdir(tmp_path)
    feeds = {"FEEDS": {uri: {"format": "jsonlines", **options}}, "keep_items": False}
    feeds["FEED_STORAGES"] = {"ftp": Ftp, "own": OwnFile}
    with known_site(SITE, tmp_path) as site:
        first, second = (site.crawl(*paths, **feeds) for paths in (["/a"], SITE))
    assert not [one for one in first.messages() if "overwrit" in one]
    assert second.stats["finish_reason"] == "finished"
    told = [one for one in second.messages() if "overwrit" in one]
    warned = [f"If there is a file at {shown}"] if shown else []
    assert [one.partition(", it is overwritten")[0] for one in told] == warned
