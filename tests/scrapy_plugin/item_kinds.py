"""Items of every kind that Scrapy takes."""

from dataclasses import dataclass

import attrs
import pydantic
import scrapy


@dataclass(slots=True)
class SlotsItem:
    url: str
    name: str | None = None


@attrs.frozen
class FrozenItem:
    url: str
    name: str | None = None


class PydanticItem(pydantic.BaseModel, frozen=True):
    url: str
    name: str | None = None


class ScrapyItem(scrapy.Item):
    url = scrapy.Field()
    name = scrapy.Field()


KINDS = (dict, SlotsItem, FrozenItem, PydanticItem, ScrapyItem)
