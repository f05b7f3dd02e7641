"""What the name of a scope tells: whether an item told it."""

OF_ITEM = "item "
"""With it begins what an item told."""


def are_versions(scope: str, other: str) -> bool:
    """Return whether a page under the same key in the *other* scope is a version of one in *scope*.

    The items of a page that have scopes of their own stand for different contents.
    """
    return not is_of_item(scope) or scope == other


def is_of_item(scope: str) -> bool:
    """Return whether an item told *scope*: its page has others, too."""
    return scope.startswith(OF_ITEM)
