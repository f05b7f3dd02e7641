"""The shipped spider with items as spiders of sites have them, for drops.py --items."""

from typing import Any

from scrapy.http import Response

from crawler.spiders.site import SiteSpider


class ItemSpider(SiteSpider):
    """Yields title and text; date, author, tags and description, too; or all cells of tables."""

    name = "items"

    def __init__(self, *, items: str = "text", **arguments: Any) -> None:
        super().__init__(**arguments)
        self._kind = items

    def _item(self, response: Response) -> Any:
        item: dict[str, Any] = {"url": response.url}
        if not hasattr(response, "xpath"):
            return item
        main = response.xpath("//main | //article") or response.xpath("//body")
        item["title"] = response.xpath("string(//title)").get()
        item["text"] = "\n".join(main[:1].xpath(".//p//text()").getall())
        if self._kind != "text":
            item["date"] = response.xpath("//time/@datetime").get()
            item["author"] = response.xpath("//meta[@name='author']/@content").get()
            item["tags"] = response.xpath("//meta[@name='keywords']/@content").getall()
            item["description"] = response.xpath("//meta[@name='description']/@content").get()
        if self._kind == "cells":
            item["cells"] = [cell.xpath("string()").get() for cell in response.xpath("//td")]
        return item
