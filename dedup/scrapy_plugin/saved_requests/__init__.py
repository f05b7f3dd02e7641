"""Requests that need not be sent (DEDUP_REVISITS, DEDUP_SKIP_URLS)."""

from dedup.scrapy_plugin.saved_requests.saver import RequestSaver

__all__ = ["RequestSaver"]
