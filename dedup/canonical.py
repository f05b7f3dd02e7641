"""A link and headers -> the URL that a page names as its canonical one."""

from collections.abc import Iterable
from urllib.parse import urljoin

import regex

from dedup.extraction.head import SEVERAL
from dedup.limits import LONGEST_URL

_LINK_HEADER = regex.compile(r"<([^<>]*+)>((?:[^,<\"]|\"[^\"]*+\")*+)")
_REL_IN_HEADER = regex.compile(
    r";\s*+rel\s*+=\s*+(?:\"([^\"]*+)\"|([^\s;,\"]++))", regex.IGNORECASE
)
_LONGEST_HEADER = 200_000


def canonical_of(link: str | None, base_url: str, link_headers: Iterable[str] = ()) -> str | None:
    """Return the URL that a page names as its canonical one, without fragment, or ``None``.

    *link* is what `extraction.head.canonical_link` found; *base_url* is what links of the page are
    relative to. A page that names several names none.

    >>> canonical_of("/tea", "http://a/print/tea")
    'http://a/tea'
    >>> canonical_of(None, "http://a/tea.pdf", ['</tea>; rel="canonical"'])
    'http://a/tea'
    """
    links = [*_of_headers(link_headers), *([] if link is None else [link])]
    try:
        urls = {urljoin(base_url, link.strip()).partition("#")[0] for link in links}
    except ValueError:  # such as an unclosed bracket in the host
        return None
    url = urls.pop() if len(urls) == 1 and link != SEVERAL else ""
    is_of_web = url[:8].lower().startswith(("http://", "https://"))
    return url if is_of_web and len(url) <= LONGEST_URL else None


def _of_headers(link_headers: Iterable[str]) -> Iterable[str]:
    for header in link_headers:
        for url, parameters in _LINK_HEADER.findall(header[:_LONGEST_HEADER]):
            rel = _REL_IN_HEADER.search(parameters)
            if rel and "canonical" in (rel[1] or rel[2]).lower().split() and url:
                yield url
