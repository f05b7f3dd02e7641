"""Every setting: its default, its forms, and what a wrong value is told."""

import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest
from cases import each
from scrapy import Spider
from scrapy.settings import Settings

from dedup.extraction import EXTRACTORS
from dedup.methods import FingerprintMethod, SimHash
from dedup.preference import clean_url, https
from dedup.scrapy_plugin.setting_values import Reader, SettingError, StorePlace
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.stores.server_url import ServerUrl


def read(**settings: Any) -> DedupSettings:
    return DedupSettings.from_settings(Settings(settings))


RIGHT = [
    ("enabled", "0", False),
    ("workers", "0", 0),
    ("fields", '{"text": "body"}', {"text": "body"}),
    ("ignore_fields", "a, b,", {"a", "b"}),
    ("revisits", "keep", ("keep", 0)),
    ("revisits", {"keep": "7d"}, ("keep", 7)),
    ("revisits", '{"keep": "7d"}', ("keep", 7)),
    *(("log_level", level, "INFO") for level in ("info", "INFO")),
]


@each(("field", "value", "expected"), RIGHT)
def test_a_value_has_several_forms_also_as_strings_of_the_command_line(
    field: str, value: Any, expected: Any
):
    assert getattr(read(**{f"DEDUP_{field.upper()}": value}), field) == expected


class MyMethod(SimHash):
    name = "mine"


def my_extractor(html: str) -> str:
    return html


@pytest.mark.parametrize("method", [MyMethod, f"{__name__}.MyMethod"])
def test_a_method_is_a_short_name_an_import_path_or_a_class(method: Any):
    settings = read(DEDUP_METHOD=method)
    assert isinstance(settings.method, MyMethod)
    assert settings.shown["DEDUP_METHOD"] == f"{__name__}.MyMethod"
    settings = read(DEDUP_METHOD={"name": method, "max_distance": 1})
    assert isinstance(settings.method, MyMethod)
    assert settings.method.max_distance == 1


def test_a_method_with_arguments_is_a_dict_also_in_json():
    settings = read(DEDUP_METHOD='{"name": "minhash", "bands": 20, "rows": 5}')
    assert settings.method.parameters["bands"] == 20
    assert settings.shown["DEDUP_METHOD"] == {"name": "minhash", "bands": 20, "rows": 5}
    assert read(DEDUP_METHOD={"name": "minhash"}).shown["DEDUP_METHOD"] == "minhash"


@pytest.mark.parametrize("extractor", [my_extractor, f"{__name__}.my_extractor"])
def test_an_extractor_is_a_short_name_an_import_path_or_a_function(extractor: Any):
    assert read(DEDUP_EXTRACTOR=extractor).extractor is my_extractor
    assert read(DEDUP_EXTRACTOR="resiliparse").extractor is EXTRACTORS["resiliparse"]


WRONG = [
    ("DEDUP_ENABLED", "perhaps", "must be True or False, got 'perhaps'"),
    ("DEDUP_METHOD", "json.dumps", "must be a subclass of dedup.methods.Method"),
    ("DEDUP_METHOD", {"name": "simhash", "bts": 64}, "bits, lexicon, got {'bts': 64}"),
    ("DEDUP_METHOD", {"bits": 64}, 'must have the name of the method as "name", got {'),
    ("DEDUP_MAX_DISTANCE", 64, "max_distance must be from 0 to 63, got 64"),
    ("DEDUP_MAX_DISTANCE", -1, "must be a number of at least 0, got -1"),
    ("DEDUP_EXTRACTOR", "trafilature", "must be an import path or one of trafilatura, resi"),
    ("DEDUP_PREFER", "newest-versions", "got 'newest-versions'; did you mean newest-version?"),
    ("DEDUP_PREFER", [dict], "must be functions or names of them, got <class 'dict'>"),
    ("DEDUP_MIN_TOKENS", -1, "must be a whole number of at least 0, got -1"),
    ("DEDUP_EXTRACTOR", 5, "must be callable, got 5"),
    ("DEDUP_SCOPE", ["field:a,b"], "cannot take a field with a comma in its name: 'a,b'"),
    ("DEDUP_ACTION", "delete", "must be 'drop' or 'mark', got 'delete'"),
    ("DEDUP_ITEM_FIELD", 7, "must be a string, got 7"),
    ("DEDUP_FIELDS", {"body": "text"}, "must map 'text' or 'title' or 'language' or 'coverage'"),
    ("DEDUP_WORKERS", True, "must be a whole number of at least 0, got True"),
    ("DEDUP_LOG_LEVEL", "LOUD", "'ERROR' or 'CRITICAL', got 'LOUD'"),
    ("DEDUP_REPORT", 5, "must be the path of a folder, got 5"),
    ("DEDUP_REPORT", "/dev/null", "must be a folder, got '/dev/null'"),
    ("DEDUP_REPORT", "/dev/null/reports", "cannot be written: '/dev/null/reports'"),
    ("DEDUP_REPORT", "s3://bucket/reports", "a local folder, got the URL 's3://bucket/reports'"),
    ("DEDUP_INDEX", "s3://bucket/pages", "or the URL of a server that crawls share"),
    ("DEDUP_DUPLICATES", "redis://:secret@host/0", "got the URL 'redis://host/0'"),
    ("DEDUP_INDEX", "/tmp", "must be a file, got '/tmp'"),
    ("DEDUP_INDEX", "x" * 300, "(File name too long)"),
    ("DEDUP_INDEX", "%(nmae)s.sqlite", "a wrong placeholder ('nmae'): there are %(time)s"),
    ("DEDUP_INDEX", "50%.sqlite", "and %% stands for a percent sign"),
    ("DEDUP_INDEX", "redis://host?commit=late", "must be 'stored' or 'passed', got 'late'"),
    ("DEDUP_INDEX", "redis://host?share=1", "share is for a file"),
    ("DEDUP_INDEX", "sqlite:///a?share=often", "must be True or False, got 'often'"),
    ("DEDUP_INDEX", "sqlite:///a?shared=1", "the options share, commit, store_down"),
    ("DEDUP_INDEX", "sqlite://a", "four slashes for a path from the root"),
    ("DEDUP_INDEX", "sqlite:///a?store_down=stop", "that crawls do not share"),
    ("DEDUP_REVISITS", "skp", "must be 'drop' or 'keep' or 'skip' or 'ask', got 'skp'"),
    ("DEDUP_REVISITS", {"drop": "3 days"}, "must have an age in days, such as '30d', got '3 days'"),
    ("DEDUP_REVISITS", {}, """or 'ask', or such as {"drop": "30d"}, got {}"""),
    ("DEDUP_CLOSE_UNCHANGED", 2.5, "must be a whole number of at least 0, got 2.5"),
]


class WithoutVersion(FingerprintMethod):
    name = "without-version"

    def sketch(self, document: Any) -> int:
        return 0


class WithoutDistance(FingerprintMethod):
    name, version = "without-distance", 1

    def __init__(self) -> None: ...

    def sketch(self, document: Any) -> int:
        return 0


@each(
    ("settings", "message"),
    [
        *(({name: value}, message) for name, value, message in WRONG),
        ({"DEDUP_METHOD": WithoutVersion}, "WithoutVersion'> lacks version"),
        ({"DEDUP_METHOD": WithoutDistance}, "lacks a max_distance, a number"),
        ({"DEDUP_EXTRACTOR": lambda html: html}, "DEDUP_EXTRACTOR cannot be sent to a worker"),
        (
            {"DEDUP_METHOD": {"name": "simhash", "max_distance": 5}, "DEDUP_MAX_DISTANCE": "2"},
            "DEDUP_MAX_DISTANCE is 2, and in DEDUP_METHOD it is 5",
        ),
        (
            {"DEDUP_ITEM_FIELD": "body", "DEDUP_FOLLOW_DUPLICATES": False},
            "DEDUP_ITEM_FIELD gives one on each item: set one of them only",
        ),
        (
            {"DEDUP_ITEM_FIELD": "body", "DEDUP_FIELDS": {"text": "text"}},
            "DEDUP_ITEM_FIELD uses the item's own: set one of them only",
        ),
        (
            {"DEDUP_SCOPE": "field:sku", "DEDUP_FOLLOW_DUPLICATES": False},
            "DEDUP_SCOPE = 'field:sku' gives one on each item: set one of them only",
        ),
        *(
            ({"DEDUP_REVISITS": {"ask": "7d"}, "DEDUP_INDEX": index}, "needs a ledger that no othe")
            for index in ("", "sqlite:///pages.sqlite?share=1")
        ),
        *(
            ({"DEDUP_SKETCH_FIELD": "dedup", **other}, "use the field 'dedup': give each its own")
            for other in (
                {"DEDUP_FIELDS": {"text": "dedup"}},
                {"DEDUP_ITEM_FIELD": "dedup"},
                {"DEDUP_ACTION": "mark"},
            )
        ),
    ],
)
def test_what_is_wrong_or_excludes_something_is_refused_by_name_with_the_choices(
    settings: dict[str, Any], message: str
):
    with pytest.raises(SettingError) as caught:
        read(**settings)
    assert next(iter(settings)) in str(caught.value)
    assert message in str(caught.value)


def test_an_extractor_whose_library_is_missing_says_how_to_install_it(monkeypatch: Any):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"pip install 'scrapy-dedup\[resiliparse\]'"):
        read(DEDUP_EXTRACTOR="resiliparse")


def test_an_unknown_setting_is_warned_of_with_the_one_that_is_like_it(
    caplog: pytest.LogCaptureFixture,
):
    with caplog.at_level(logging.WARNING):
        read(DEDUP_MAX_DISTANCES=5, DEDUP_WEATHER=5)
    assert caplog.messages == [
        "There is no setting DEDUP_MAX_DISTANCES; did you mean DEDUP_MAX_DISTANCE?",
        "There is no setting DEDUP_WEATHER",
    ]


def test_paths_name_the_spider_its_attributes_and_the_time(tmp_path: Path):
    settings = {
        "DEDUP_INDEX": str(tmp_path / "%(name)s-%(region)s-%(_job)s.sqlite"),
        "DEDUP_REPORT": tmp_path / "reports" / "%(time)s",
        "DEDUP_DUPLICATES": str(tmp_path / "100%% of %(name)s.jsonl"),
    }
    # As scrapyd names a job.
    spider = Spider("news", region="eu", _job="26")
    result = DedupSettings.from_settings(Settings(settings), spider)
    assert result.index.place == tmp_path / "news-eu-26.sqlite"
    assert result.duplicates == tmp_path / "100% of news.jsonl"
    assert result.report is not None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\+00-00", result.report.name)
    assert result.shown["DEDUP_INDEX"] == str(result.index.place)


def test_each_path_is_a_file_of_its_own(tmp_path: Path):
    ledger, link, feed = (tmp_path / name for name in ("pages.sqlite", "link", "feed.jsonl"))
    ledger.touch()
    link.symlink_to(ledger)
    same = [
        {"DEDUP_DUPLICATES": str(ledger)},
        {"DEDUP_DUPLICATES": str(link)},
        {"FEEDS": {str(ledger): {"format": "jsonlines"}}},
        {"FEEDS": {ledger.as_uri(): {"format": "jsonlines"}}},
        {"FEEDS": {ledger: {"format": "jsonlines"}}},
    ]
    for settings in same:
        with pytest.raises(SettingError, match=r"pages.sqlite is used twice: give DEDUP_INDEX"):
            read(DEDUP_INDEX=str(ledger), **settings)
    with pytest.raises(SettingError, match=r"feed.jsonl is used twice: .* DEDUP_DUPLICATES"):
        read(DEDUP_DUPLICATES=str(feed), FEEDS={str(feed): {"format": "jsonlines"}})
    read(DEDUP_INDEX=str(ledger), FEEDS={"s3://pages.sqlite": {"format": "jsonlines"}})


def test_the_ledger_of_a_job_is_in_its_folder_unless_another_is_named(tmp_path: Path):
    job = tmp_path / "job"
    assert read(JOBDIR=str(job)).index == StorePlace(job / "dedup.sqlite")
    elsewhere = tmp_path / "pages.sqlite"
    assert read(JOBDIR=str(job), DEDUP_INDEX=str(elsewhere)).index == StorePlace(elsewhere)


@each(
    ("url", "place"),
    [
        ("sqlite:///pages.sqlite?share=1", StorePlace(Path("pages.sqlite").absolute(), True)),
        ("sqlite:////tmp/a%20b", StorePlace(Path("/tmp/a b"))),
        ("sqlite:///%(name)s?share=0", StorePlace(Path("news & more").absolute())),
        (
            "sqlite:////tmp/a?share=1&store_down=stop",
            StorePlace(Path("/tmp/a"), True, store_down="stop"),
        ),
        (
            "redis://:hush%3F@host/0?namespace=a&commit=passed",
            StorePlace(ServerUrl.of("redis://:hush%3F@host/0?namespace=a"), True, "passed"),
        ),
        (
            "redis://:%40hush@host:6379/0?namespace=%(name)s",
            StorePlace(
                ServerUrl.of("redis://:%40hush@host:6379/0?namespace=news%20%26%20more"), True
            ),
        ),
        (
            "postgresql://host/db?store_down=stop",
            StorePlace(ServerUrl.of("postgresql://host/db"), True, store_down="stop"),
        ),
    ],
)
def test_the_url_of_a_store_has_options_that_its_server_is_not_shown(url: str, place: StorePlace):
    settings = DedupSettings.from_settings(Settings({"DEDUP_INDEX": url}), Spider("news & more"))
    assert settings.index == place
    assert settings.shown["DEDUP_INDEX"] == str(place.place)
    assert "hush" not in f"{settings!r} {settings.shown}"


@each(
    ("name", "path"),
    [
        ("DEDUP_INDEX", "new.sqlite"),
        ("DEDUP_DUPLICATES", "dropped.jsonl"),
    ],
)
def test_what_cannot_be_written_is_told_of_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, path: str
):
    """Also if the ledger is there already."""
    (tmp_path / "old.sqlite").touch()
    monkeypatch.setattr("os.access", lambda path, mode: not mode & os.W_OK)
    with pytest.raises(SettingError, match=f"{name} cannot be written: "):
        read(**{name: str(tmp_path / path)})


@each(
    ("criteria", "shown"),
    [
        ("https,clean-url", ["https", "clean-url"]),
        (" https , dedup.preference.clean_url", ["https", "dedup.preference.clean_url"]),
        (["https", clean_url], ["https", "dedup.preference.clean_url"]),
        (https, ["dedup.preference.https"]),
        ("", []),
    ],
)
def test_criteria_are_names_import_paths_or_functions(criteria: Any, shown: list[str]):
    settings = read(DEDUP_PREFER=criteria)
    assert settings.prefer.criteria == [https, clean_url][: len(shown)]
    assert settings.shown["DEDUP_PREFER"] == shown


NO_TEXT = ("nmae", "region", "tags", "parse", "batch_id", "", "__class__")
NO_PLACEHOLDER = ("50%", "%s", "%d", "a%20b", "%%%", "%(name", "%(name)", "%(name)y", "%(name)d")


@each("path", [*(f"%({name})s" for name in NO_TEXT), *NO_PLACEHOLDER])
def test_what_is_no_text_or_number_of_the_spider_is_refused_with_the_names(path: str):
    spider = Spider("news", edition=2, region=None, tags=("a", "b"), _job="26")
    with pytest.raises(ValueError, match="%% stands for a percent sign") as caught:
        Reader(Settings(), spider).fill(path)
    names = str(caught.value).split("there are ")[1].split(", and")[0].split(", ")
    assert set(names) == {"%(time)s", "%(name)s", "%(edition)s"}
