"""The item pipeline, as others than Scrapy's own manager build it."""

from typing import Any

from crawls import crawl, spider_over
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object
from texts import article, page
from web import served

SITE = {"/original": page(article(1)), "/copy": page(article(1))}


class PlainProcessor(ItemPipelineManager):
    """An ITEM_PROCESSOR that knows no ``from_crawler`` of pipelines."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> "PlainProcessor":
        pipelines = crawler.settings.get_component_priority_dict_with_base("ITEM_PIPELINES")
        built = (load_object(path)() for path in build_component_list(pipelines))
        return cls(*built, crawler=crawler)


def test_without_its_crawler_it_passes_all_items_and_the_log_says_so():
    with served(SITE) as url:
        result = crawl(
            spider_over(f"{url}/original", f"{url}/copy"),
            ITEM_PROCESSOR=f"{__name__}.{PlainProcessor.__name__}",
        )
    assert len(result.items) == 2
    assert result.messages() == ["ITEM_PIPELINES lacks dedup.scrapy_plugin.ItemPipeline"]
    assert "log_count/ERROR" not in result.stats
