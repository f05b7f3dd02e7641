"""The Scrapy project behind ``scrapy crawl site``: a whole site, every content once."""
