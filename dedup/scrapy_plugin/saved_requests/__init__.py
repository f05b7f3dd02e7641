"""Requests that need not be sent (DEDUP_REVISITS, DEDUP_SKIP_URLS)."""

from dedup.scrapy_plugin.saved_requests.leaves import NOT_MODIFIED, Leaves
from dedup.scrapy_plugin.saved_requests.put_off import PutOffRequests
from dedup.scrapy_plugin.saved_requests.savings import Savings
from dedup.scrapy_plugin.saved_requests.url_rules import UrlRules

__all__ = ["NOT_MODIFIED", "Leaves", "PutOffRequests", "Savings", "UrlRules"]
