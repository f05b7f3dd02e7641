"""Settings of the project: enable dedup, and crawl politely."""

BOT_NAME = "scrapy-dedup"
SPIDER_MODULES = ["crawler.spiders"]
NEWSPIDER_MODULE = "crawler.spiders"

ADDONS = {"dedup.scrapy_plugin.Addon": 500}
DEDUP_FIELDS = {name: name for name in ("text", "title", "language", "coverage", "canonical")}
DEDUP_REPORT = "reports"
DEDUP_IGNORE_FIELDS = ["html"]  # of -a save_html=yes: the page decides
DEDUP_LOG_LEVEL = "INFO"
# Of copies, the first one is kept: so the better URLs come first.
DEDUP_PREFER = ["canonical", "https", "clean-url", "newest-version"]

USER_AGENT = "scrapy-dedup (site crawler that stores every content once)"
ROBOTSTXT_OBEY = True
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 1
CONCURRENT_REQUESTS_PER_DOMAIN = 4

FEED_EXPORT_ENCODING = "utf-8"
LOG_LEVEL = "INFO"
