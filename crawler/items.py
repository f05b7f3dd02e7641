"""What the spider stores."""

import scrapy


class PageItem(scrapy.Item):
    """One page. The dedup layer fills in title, text, language, coverage and canonical URL.

    A ``scrapy.Item``, since its exporters write only the fields that were set.
    """

    url = scrapy.Field()
    title = scrapy.Field()
    text = scrapy.Field()  # the main text; None for what is not HTML
    language = scrapy.Field()  # primary subtag, such as "en"; None if unknown
    canonical = scrapy.Field()  # the URL that the page names as its canonical one, or None
    coverage = scrapy.Field()  # how much of the page the text is, 0 to 1; None if unknown
    fetched = scrapy.Field()  # UTC, ISO 8601
    html = scrapy.Field()  # with -a save_html=1 only
    dedup = scrapy.Field()  # the verdict, with DEDUP_ACTION = "mark" only
    dedup_record = scrapy.Field()  # what is compared of it, with DEDUP_SKETCH_FIELD only
