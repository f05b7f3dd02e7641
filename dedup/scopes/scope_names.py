"""What the name of a scope tells: whether an item told it, and what it lies within."""

WITHIN = "\x1f"
"""No scope of a URL contains it: hosts that Scrapy takes may."""
OF_ITEM = "item "
"""With it begins what an item told."""


def are_versions(scope: str, other: str) -> bool:
    """Return whether a page under the same key in the *other* scope is a version of one in *scope*.

    The items of a page that have scopes of their own stand for different contents.
    """
    return not is_of_item(scope) or base_of(scope) == base_of(other)


def is_of_item(scope: str) -> bool:
    """Return whether an item told *scope*: its page has others, too."""
    return scope.startswith(OF_ITEM)


def scope_within(scope: str, parts: bytes) -> str:
    """Return the scope of the pages in *scope* whose items also consist of the same *parts*.

    >>> base_of(scope_within("example.com", b"\x07"))
    'example.com'
    """
    return f"{scope}{WITHIN}{parts.hex()}"


def parts_of(scope: str) -> bytes:
    """Return the parts that were passed to `scope_within`; b"" for any other scope."""
    return bytes.fromhex(scope.partition(WITHIN)[2])


def replace_base(scope: str, base: str) -> str:
    """Return *scope* with another *base* and the same parts."""
    _, within, parts = scope.partition(WITHIN)
    return f"{base}{within}{parts}"


def is_within(scope: str) -> bool:
    """Return whether `scope_within` made *scope*."""
    return WITHIN in scope


def base_of(scope: str) -> str:
    """Return the scope that was passed to `scope_within`, or *scope* itself."""
    return scope.partition(WITHIN)[0]
