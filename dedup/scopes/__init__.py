"""Which pages a page is compared with."""

from dedup.scopes.parts import LONGEST_LANGUAGE, crawl, domain, host, language
from dedup.scopes.scope import Scope, is_scope_name
from dedup.scopes.scope_names import are_versions, is_of_item

__all__ = [
    "LONGEST_LANGUAGE",
    "Scope",
    "are_versions",
    "crawl",
    "domain",
    "host",
    "is_of_item",
    "is_scope_name",
    "language",
]
