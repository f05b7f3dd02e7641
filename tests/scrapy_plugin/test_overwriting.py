"""Feeds that are overwritten, with a ledger that goes on to know what was in them."""

from pathlib import Path
from typing import Any

import pytest
from crawls import crawl, spider_over
from feed_crawls import run, urls_in
from scrapy.extensions.feedexport import FileFeedStorage, FTPFeedStorage, GCSFeedStorage
from texts import article, page
from web import served

SITE = {"/a": page(article(1)), "/b": page(article(2))}


def crawl_twice(ledger: Path, feeds: dict[str, Any], **options: Any) -> list[str]:
    """Return what dedup says of files in the second crawl, which meets another page besides."""
    options = {"FEEDS": feeds, "keep_items": False, **options}
    first, second = (run(site, ledger, **options) for site in ({"/a": SITE["/a"]}, SITE))
    assert not [one for one in first.messages() if "overwrit" in one]
    assert second.stats["finish_reason"] == "finished"
    return [one for one in second.messages() if "overwrit" in one]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pages", "%(name)s", "%(name)s-%(batch_id)d", "two words"])
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_local_file_with_items_is_not_overwritten(tmp_path: Path, name: str, scheme: str):
    uri = f"{scheme}{tmp_path}/{name}.jl"
    if scheme:
        uri = uri.replace(" ", "%20")
    options = {"format": "jsonlines", "overwrite": True, "batch_item_count": int("batch" in name)}
    ledger = tmp_path / "pages.sqlite"
    run(SITE, ledger, FEEDS={uri: options}, keep_items=False)
    path = tmp_path / f"{name.replace('%(name)s', 'test').replace('%(batch_id)d', '1')}.jl"
    content = path.read_bytes()
    refused = run(SITE, ledger, FEEDS={uri: options}, keep_items=False)
    assert refused.stats["finish_reason"] == "dedup_overwritten_feed"
    assert "downloader/request_count" not in refused.stats
    [message] = [one for one in refused.messages() if "overwrit" in one]
    assert message.startswith(f"The crawl does not start: it would overwrite {path}, and ")
    assert path.read_bytes() == content


@pytest.mark.parametrize("way", [{"DEDUP_REVISITS": "keep"}, {"DEDUP_ACTION": "mark"}, "reset"])
def test_it_is_where_everything_is_stored_again(tmp_path: Path, way: Any):
    feeds = {f"{tmp_path}/pages.jl": {"format": "jsonlines", "overwrite": True}}
    settings = way if isinstance(way, dict) else {}
    with served(SITE) as url:
        for dedup_reset in (False, way == "reset"):
            spider = spider_over(*(url + path for path in SITE), dedup_reset=dedup_reset)
            ledger = tmp_path / "pages.sqlite"
            result = crawl(spider, DEDUP_INDEX=ledger, FEEDS=feeds, keep_items=False, **settings)
            assert result.stats["finish_reason"] == "finished"
            assert urls_in(tmp_path / "pages.jl") == ["/a", "/b"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"overwrite": False}, {}])
def test_a_local_file_that_is_appended_to_is_not_told_of(tmp_path: Path, options: Any):
    feeds = {f"{tmp_path}/pages.jl": {"format": "jsonlines", **options}}
    assert not crawl_twice(tmp_path / "pages.sqlite", feeds)
    assert urls_in(tmp_path / "pages.jl") == ["/a", "/b"]


def into(folder: Path) -> type[FTPFeedStorage]:
    class Ftp(FTPFeedStorage):
        """Scrapy's own but for the server: what it would send is put into a local folder."""

        def _store_in_thread(self, file: Any) -> None:
            file.seek(0)
            with (folder / Path(self.path).name).open("wb" if self.overwrite else "ab") as target:
                target.write(file.read())
            file.close()

    return Ftp


def test_ftp_overwrites_by_default_and_that_is_told_without_the_password(tmp_path: Path):
    feeds = {"ftp://me:secret@127.0.0.1/%(name)s.jl": {"format": "jsonlines"}}
    [message] = crawl_twice(tmp_path / "pages.sqlite", feeds, FEED_STORAGES={"ftp": into(tmp_path)})
    assert message.startswith("If there is a file at ftp://127.0.0.1/test.jl, it is overwritten, ")
    assert urls_in(tmp_path / "test.jl") == ["/b"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [("pages.jl", {"overwrite": False}), ("%(time)s.jl", {}), ("%(batch_time)s.jl", {})],
)
def test_ftp_that_appends_or_has_the_time_in_its_name_is_not_told_of(
    tmp_path: Path, name: str, options: Any
):
    feeds = {f"ftp://127.0.0.1/{name}": {"format": "jsonlines", **options}}
    assert not crawl_twice(tmp_path / "pages.sqlite", feeds, FEED_STORAGES={"ftp": into(tmp_path)})
    stored = [path for feed in tmp_path.glob("*.jl") for path in urls_in(feed)]
    assert "/b" in stored
    assert ("/a" in stored) or name == "%(time)s.jl"  # in the same second, it is the same file


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"overwrite": False}, {}])
def test_google_and_with_it_s3_always_overwrite(tmp_path: Path, options: Any):
    class Bucket(GCSFeedStorage):
        """Scrapy's own, without the upload."""

        def _store_in_thread(self, file: Any) -> None:
            file.close()

    feeds = {"gs://bucket/pages.jl": {"format": "jsonlines", **options}}
    [message] = crawl_twice(tmp_path / "pages.sqlite", feeds, FEED_STORAGES={"gs": Bucket})
    assert message.startswith("If there is a file at gs://bucket/pages.jl, it is overwritten")


def test_standard_output_is_not_overwritten(tmp_path: Path):
    feeds = {"stdout:": {"format": "jsonlines", "overwrite": True}}
    assert not crawl_twice(tmp_path / "pages.sqlite", feeds)


class OwnFile(FileFeedStorage):
    """Derived from Scrapy's, with a constructor of its own."""

    def __init__(self, uri: str, *, feed_options: Any = None) -> None:
        self.path = uri.partition("://")[2]

    def open(self, spider: Any) -> Any:
        return open(self.path, "ab")


@pytest.mark.slow
def test_a_derived_storage_that_does_not_know_its_mode_is_asked_as_any_other(tmp_path: Path):
    for overwrite in (False, True):
        feed = tmp_path / f"{overwrite}.jl"
        feeds = {f"own://{feed}": {"format": "jsonlines", "overwrite": overwrite}}
        told = crawl_twice(tmp_path / f"{overwrite}.sqlite", feeds, FEED_STORAGES={"own": OwnFile})
        assert [one.partition(",")[0] for one in told] == [
            f"If there is a file at own://{feed}"
        ] * overwrite
        assert urls_in(feed) == ["/a", "/b"]


def test_a_storage_that_cannot_be_asked_breaks_no_crawl(tmp_path: Path):
    class Broken(OwnFile):
        @property
        def overwrite(self) -> bool:
            raise ValueError("no idea")

    feed = tmp_path / "pages.jl"
    feeds = {f"own://{feed}": {"format": "jsonlines"}}
    [message] = crawl_twice(tmp_path / "pages.sqlite", feeds, FEED_STORAGES={"own": Broken})
    assert message == "Dedup cannot tell whether feeds are overwritten: ValueError: no idea"
    assert urls_in(feed) == ["/a", "/b"]
