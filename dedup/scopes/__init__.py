"""Which pages a page is compared with."""

from dedup.scopes.parts import LONGEST_LANGUAGE, crawl, domain, host, language
from dedup.scopes.scope import Scope, is_scope_name
from dedup.scopes.scope_names import (
    are_versions,
    base_of,
    is_of_item,
    is_within,
    parts_of,
    replace_base,
    scope_within,
)

__all__ = [
    "LONGEST_LANGUAGE",
    "Scope",
    "are_versions",
    "base_of",
    "crawl",
    "domain",
    "host",
    "is_of_item",
    "is_scope_name",
    "is_within",
    "language",
    "parts_of",
    "replace_base",
    "scope_within",
]
