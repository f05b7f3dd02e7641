"""Placeholders of paths."""

import pytest
from cases import each
from scrapy import Spider

from dedup.scrapy_plugin.setting_values import Placeholders


class News(Spider):
    name = "news"
    edition = 2
    region = None
    tags = ("a", "b")


def test_a_placeholder_may_have_a_format():
    fill = Placeholders(News()).fill
    assert fill("%(edition)03d-%(name)8s-%(edition)5.1f") == "002-    news-  2.0"


def test_a_percent_sign_is_doubled():
    assert Placeholders(News()).fill("%%(name)s-100%%") == "%(name)s-100%"


def test_the_time_is_one_for_all_paths():
    placeholders = Placeholders(News())
    assert placeholders.fill("%(time)s") == placeholders.fill("%(time)s")


@each("name", ["nmae", "region", "tags", "parse", "batch_id", "", "__class__"])
def test_what_is_no_text_or_number_of_the_spider_is_refused_with_the_names(name: str):
    with pytest.raises(ValueError, match="there are ") as caught:
        Placeholders(News(category="sport")).fill(f"%({name})s")
    message = str(caught.value)
    assert f"there is no %({name})s" in message
    names = message.split("there are ")[1].split(", ")
    assert set(names) == {"%(time)s", "%(name)s", "%(edition)s", "%(category)s"}


@each("path", ["50%", "%s", "%d", "a%20b", "%%%"])
def test_a_percent_sign_that_begins_nothing_is_refused(path: str):
    with pytest.raises(ValueError, match="%% stands for itself"):
        Placeholders(News()).fill(path)


@each("path", ["%(name)", "%(name", "%(name)-", "%(name)d", "%(name)y"])
def test_a_format_that_is_none_is_refused(path: str):
    with pytest.raises(ValueError, match="format"):
        Placeholders(News()).fill(path)
