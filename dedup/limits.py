"""The longest strings that are stored: URLs, titles and messages come from the web."""

from hashlib import blake2b
from urllib.parse import SplitResult, urlsplit

LONGEST_URL = 2_500
"""Characters of a URL or another key. Scrapy itself follows no URL beyond 2,083."""
LONGEST_SCOPE = 300
"""Characters of a scope, which values of items may be; what else an item is made of follows."""
LONGEST_LINE = 1_000
"""Characters of a title, a message, a name or a setting."""
LONGEST_TEXT = 40_000
"""Characters of a main text that is stored for the report."""


def shorten(text: str, length: int = LONGEST_LINE) -> str:
    """Return *text*, shortened with an ellipsis if it has more than *length* characters.

    >>> shorten("A very long title", 10)
    'A very ...'
    """
    return text if len(text) <= length else f"{text[: length - 3]}..."


def shorten_url(url: str, length: int = LONGEST_URL) -> str:
    """Return *url* as it is stored: a digest of all of it replaces the end of one that is too long.

    So URLs that only differ at their end stay different. A stored URL stays as it is:

    >>> long = "http://a/" + "x" * 10_000
    >>> shorten_url(long)[2463:]
    'xx...e941922700d410d04b451be0faae5d21'
    >>> shorten_url(shorten_url(long)) == shorten_url(long) != shorten_url(long + "y")
    True
    """
    if len(url) <= length:
        return url
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{url[: length - len(digest) - 3]}...{digest}"


def split_url(url: str) -> SplitResult:
    """Return the parts of *url*; all are empty if it cannot be split."""
    try:  # not all of a long one: urlsplit takes time quadratic in the marks of a host
        return urlsplit(url[:LONGEST_URL])
    except ValueError:  # such as an unclosed bracket in the host
        return SplitResult("", "", "", "", "")
