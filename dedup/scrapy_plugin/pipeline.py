"""The item pipeline: drops or marks the items of duplicates."""

from typing import TYPE_CHECKING, Any

from dedup.scrapy_plugin.extension import Extension

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class ItemPipeline:
    """Carries out the verdict on the page an item comes from.

    Should be the first pipeline: one before it would work for items that are dropped, and if it
    returned another object, the item would not be recognised. Built without a crawler, as an
    ITEM_PROCESSOR may do, it passes all items.
    """

    def __init__(self, extension: Extension | None = None) -> None:
        self._extension = extension

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "ItemPipeline":
        return cls(Extension.of(crawler, cls.__name__))

    async def process_item(self, item: Any) -> Any:
        if self._extension:
            await self._extension.carry_out(item)
        return item
