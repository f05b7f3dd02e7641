"""HTML and headers -> the URL that a page names as its canonical one."""

from collections.abc import Iterable
from html import unescape
from urllib.parse import urljoin

import regex

from dedup.limits import LONGEST_URL

# What comes after the head is not asked: visitors may have written it.
_END_OF_HEAD = regex.compile(r"</head\s*+>|<body\b", regex.IGNORECASE)
# Of comments, scripts and the like, what never ends hides all the rest.
_LINK = regex.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|noscript|template)\b.*?(?:</\1\s*+>|\Z)"
    r"|(?P<link><link\b[^<>]*+>)",
    regex.IGNORECASE | regex.DOTALL,
)
_ATTRIBUTE = regex.compile(
    r"""([a-z]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""", regex.IGNORECASE
)
_LINK_HEADER = regex.compile(r"<([^<>]*+)>((?:[^,<\"]|\"[^\"]*+\")*+)")
_REL_IN_HEADER = regex.compile(
    r";\s*+rel\s*+=\s*+(?:\"([^\"]*+)\"|([^\s;,\"]++))", regex.IGNORECASE
)
_LONGEST_HEAD = 200_000


def canonical_of(html: str, base_url: str, link_headers: Iterable[str] = ()) -> str | None:
    """Return the URL that a page names as its canonical one, without fragment, or ``None``.

    *html* is the page, "" for what is none; *base_url* is what its links are relative to. A page
    that names several names none. Takes time by the length of the head.

    >>> canonical_of('<head><link rel="canonical" href="/tea"></head>', "http://a/print/tea")
    'http://a/tea'
    >>> canonical_of("", "http://a/tea.pdf", ['</tea>; rel="canonical"'])
    'http://a/tea'
    """
    named = set()
    for href in (*_of_links(html), *_of_headers(link_headers)):
        try:
            url = urljoin(base_url, href.strip()).partition("#")[0]
        except ValueError:  # such as an unclosed bracket in the host
            return None
        named.add(url)
    url = named.pop() if len(named) == 1 else ""
    is_of_web = url[:8].lower().startswith(("http://", "https://"))
    return url if is_of_web and len(url) <= LONGEST_URL else None


def _of_links(html: str) -> Iterable[str]:
    head = html[:_LONGEST_HEAD]
    if end := _END_OF_HEAD.search(head):
        head = head[: end.start()]
    if "canonical" not in head.lower():
        return
    for link in filter(None, (tag["link"] for tag in _LINK.finditer(head))):
        attributes = {
            match[1].lower(): match[2] or match[3] or match[4] or ""
            for match in _ATTRIBUTE.finditer(link)
        }
        if "canonical" in attributes.get("rel", "").lower().split() and attributes.get("href"):
            yield unescape(attributes["href"])


def _of_headers(link_headers: Iterable[str]) -> Iterable[str]:
    for header in link_headers:
        for url, parameters in _LINK_HEADER.findall(header[:_LONGEST_HEAD]):
            rel = _REL_IN_HEADER.search(parameters)
            if rel and "canonical" in (rel[1] or rel[2]).lower().split() and url:
                yield url
