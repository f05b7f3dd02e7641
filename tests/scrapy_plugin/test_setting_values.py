"""Placeholders of paths."""

import pytest
from cases import each
from scrapy import Spider
from scrapy.settings import Settings

from dedup.scrapy_plugin.setting_values import Reader


class News(Spider):
    name = "news"
    edition = 2
    region = None
    tags = ("a", "b")


def fill(path: str) -> str:
    return Reader(Settings(), News(category="sport", _job="26")).fill(path)


@each(
    ("path", "filled"),
    [
        ("%(edition)03d-%(name)8s-%(edition)5.1f", "002-    news-  2.0"),
        ("%%(name)s-100%%", "%(name)s-100%"),
        ("redis://a%20b/?namespace=%(category)s", "redis://a%20b/?namespace=sport"),
        ("%(name)s-%(_job)s", "news-26"),  # as scrapyd names a job
    ],
)
def test_a_placeholder_may_have_a_format_and_a_percent_sign_is_doubled(path: str, filled: str):
    assert fill(path) == filled


@each("name", ["nmae", "region", "tags", "parse", "batch_id", "", "__class__"])
def test_what_is_no_text_or_number_of_the_spider_is_refused_with_the_names(name: str):
    with pytest.raises(ValueError, match="there are ") as caught:
        fill(f"%({name})s")
    names = str(caught.value).split("there are ")[1].split(", and")[0].split(", ")
    assert set(names) == {"%(time)s", "%(name)s", "%(edition)s", "%(category)s"}


@each("path", ["50%", "%s", "%d", "a%20b", "%%%", "%(name", "%(name)", "%(name)y", "%(name)d"])
def test_what_begins_no_placeholder_is_refused(path: str):
    with pytest.raises(ValueError, match="%% stands for a percent sign"):
        fill(path)
