"""Every setting: its default, its forms, and what a wrong value is told."""

import logging
from typing import Any

import pytest
from scrapy.settings import Settings

from dedup.extraction import EXTRACTORS
from dedup.methods import SimHash
from dedup.scrapy_plugin.settings import DedupSettings, SettingError


def read(**settings: Any) -> DedupSettings:
    return DedupSettings.from_settings(Settings(settings))


def test_the_defaults_are_those_of_the_documentation():
    assert dict(read().shown) == {
        "DEDUP_METHOD": "simhash",
        "DEDUP_METHOD_ARGS": {},
        "DEDUP_MAX_DISTANCE": 3,
        "DEDUP_EXTRACTOR": "trafilatura",
        "DEDUP_ITEM_FIELD": "",
        "DEDUP_ENABLED": True,
        "DEDUP_MIN_TOKENS": 20,
        "DEDUP_SHORT_PAGES": "exact",
        "DEDUP_SCOPE": "crawl",
        "DEDUP_ACTION": "drop",
        "DEDUP_FOLLOW_DUPLICATES": True,
        "DEDUP_FIELDS": {},
        "DEDUP_WORKERS": 1,
        "DEDUP_PAGE_TIMEOUT": 30.0,
        "DEDUP_MAX_PAGE_BYTES": 10_000_000,
        "DEDUP_LOG_LEVEL": "DEBUG",
        "DEDUP_REPORT": "",
    }


def test_values_from_the_command_line_are_strings():
    settings = read(
        DEDUP_ENABLED="0",
        DEDUP_MAX_DISTANCE="5",
        DEDUP_WORKERS="0",
        DEDUP_PAGE_TIMEOUT="2.5",
        DEDUP_FIELDS='{"text": "body"}',
        DEDUP_FOLLOW_DUPLICATES="False",
    )
    assert settings.enabled is False
    assert settings.method.parameters == {"max_distance": 5}
    assert (settings.workers, settings.page_timeout) == (0, 2.5)
    assert settings.fields == {"text": "body"}
    assert settings.follow_duplicates is False


class MyMethod(SimHash):
    name = "mine"


def my_extractor(html: str) -> str:
    return html


@pytest.mark.parametrize("method", [MyMethod, f"{__name__}.MyMethod"])
def test_a_method_is_a_short_name_an_import_path_or_a_class(method: Any):
    settings = read(DEDUP_METHOD=method, DEDUP_METHOD_ARGS={"max_distance": 1})
    assert isinstance(settings.method, MyMethod)
    assert settings.method.max_distance == 1
    assert settings.shown["DEDUP_METHOD"] == f"{__name__}.MyMethod"


@pytest.mark.parametrize("extractor", [my_extractor, f"{__name__}.my_extractor"])
def test_an_extractor_is_a_short_name_an_import_path_or_a_function(extractor: Any):
    assert read(DEDUP_EXTRACTOR=extractor).extractor is my_extractor
    assert read(DEDUP_EXTRACTOR="resiliparse").extractor is EXTRACTORS["resiliparse"]


WRONG = [
    ("DEDUP_ENABLED", "perhaps", "must be True or False, got 'perhaps'"),
    ("DEDUP_METHOD", "simhsh", "must be 'simhash', an import path or an object, got 'simhsh'"),
    ("DEDUP_METHOD", "no.such.Method", "got 'no.such.Method': No module named 'no'"),
    ("DEDUP_METHOD", "json.dumps", "must be a subclass of dedup.methods.Method"),
    ("DEDUP_METHOD", 3, "must be a subclass of dedup.methods.Method, got 3"),
    ("DEDUP_METHOD_ARGS", {"bts": 64}, "simhash takes max_distance, got {'bts': 64}"),
    ("DEDUP_METHOD_ARGS", "[1", "must be a dict or one in JSON, got '[1'"),
    ("DEDUP_MAX_DISTANCE", 64, "max_distance must be from 0 to 63, got 64"),
    ("DEDUP_MAX_DISTANCE", -1, "must be a whole number of at least 0, got -1"),
    ("DEDUP_MAX_DISTANCE", "three", "must be a whole number of at least 0, got 'three'"),
    ("DEDUP_MAX_DISTANCE", 2.5, "must be a whole number of at least 0, got 2.5"),
    ("DEDUP_EXTRACTOR", "trafilature", "must be 'trafilatura' or 'resiliparse', an import path"),
    ("DEDUP_EXTRACTOR", 5, "must be callable, got 5"),
    ("DEDUP_MIN_TOKENS", -1, "must be a whole number of at least 0, got -1"),
    ("DEDUP_SHORT_PAGES", "drop", "must be 'exact' or 'keep', got 'drop'"),
    ("DEDUP_SCOPE", "site", "must be 'crawl' or 'domain' or 'host', got 'site'"),
    ("DEDUP_ACTION", "delete", "must be 'drop' or 'mark', got 'delete'"),
    ("DEDUP_FOLLOW_DUPLICATES", "maybe", "must be True or False, got 'maybe'"),
    ("DEDUP_ITEM_FIELD", 7, "must be a string, got 7"),
    ("DEDUP_FIELDS", {"body": "text"}, "must map 'text' or 'title' or 'language' to the name"),
    ("DEDUP_FIELDS", {"text": 1}, "got 'text': 1"),
    ("DEDUP_WORKERS", -1, "must be a whole number of at least 0, got -1"),
    ("DEDUP_WORKERS", True, "must be a whole number of at least 0, got True"),
    ("DEDUP_PAGE_TIMEOUT", 0, "must be a number of at least 0.1, got 0"),
    ("DEDUP_PAGE_TIMEOUT", "inf", "must be a number of at least 0.1, got 'inf'"),
    ("DEDUP_PAGE_TIMEOUT", "nan", "must be a number of at least 0.1, got 'nan'"),
    ("DEDUP_MAX_PAGE_BYTES", 0, "must be a whole number of at least 1, got 0"),
    ("DEDUP_LOG_LEVEL", "LOUD", "'DEBUG' or 'NOTSET', got 'LOUD'"),
    ("DEDUP_LOG_LEVEL", 17, "got 17"),
    ("DEDUP_REPORT", 5, "must be the path of a folder, got 5"),
    ("DEDUP_REPORT", "/dev/null/reports", "must be a folder, got '/dev/null/reports'"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_a_wrong_value_is_refused_by_name_with_the_choices(name: str, value: Any, message: str):
    with pytest.raises(SettingError) as caught:
        read(**{name: value})
    assert name in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"DEDUP_ITEM_FIELD": "body", "DEDUP_FOLLOW_DUPLICATES": False},
        {"DEDUP_ITEM_FIELD": "body", "DEDUP_FIELDS": {"text": "text"}},
    ],
)
def test_settings_that_exclude_each_other_are_refused(settings: dict[str, Any]):
    with pytest.raises(SettingError, match="DEDUP_ITEM_FIELD"):
        read(**settings)


def test_an_extractor_whose_library_is_missing_says_how_to_install_it(monkeypatch: Any):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"pip install 'scrapy-dedup\[resiliparse\]'"):
        read(DEDUP_EXTRACTOR="resiliparse")


def test_a_misspelt_setting_is_warned_of(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        read(DEDUP_MAX_DISTANCES=5)
    assert caplog.messages == [
        "There is no setting DEDUP_MAX_DISTANCES; did you mean DEDUP_MAX_DISTANCE?"
    ]
