"""What a URL shares with many others."""

import re
from urllib.parse import urlsplit

from dedup.limits import LONGEST_URL
from dedup.preference import is_version
from dedup.scopes import host

_FOLDERS = 3
_NUMBER = re.compile(r"\d+")
_ID = re.compile(r"\A(?:(?=\D*\d)[0-9a-f-]{8,}|(?=.*\d)[\w-]{24,})", re.IGNORECASE)
_EXTENSION = re.compile(r"(?<=.)\.[A-Za-z]\w{0,5}$")


def url_pattern(url: str) -> str:
    """Return what *url* shares with many others: host, first folders, extension, parameters.

    >>> url_pattern("http://a.org/docs/v1.2/api/17/42-tea.html?page=2&sort=up")
    'a.org/docs/{version}/api/…/*.html?page&sort'
    >>> url_pattern("http://a.org/2024/05/"), url_pattern("http://a.org/wiki/Tea")
    ('a.org/{n}/{n}/', 'a.org/wiki/*')
    """
    try:
        split = urlsplit(url[:LONGEST_URL])
    except ValueError:
        return ""
    *folders, last = split.path.split("/")
    parts = [_generalise(folder) for folder in folders[1 : _FOLDERS + 1]]
    parts += ["…"] if len(folders) > _FOLDERS + 1 else []
    extension = _EXTENSION.search(last)
    parts.append(f"*{extension.group().lower() if extension else ''}" if last else "")
    names = sorted({pair.partition("=")[0] for pair in split.query.split("&")} - {""})
    query = "?" + "&".join(names[:3]) + ("&…" if len(names) > 3 else "") if names else ""
    return f"{host(url)}/{'/'.join(parts)}{query}"


def _generalise(folder: str) -> str:
    if _NUMBER.fullmatch(folder):
        return "{n}"
    if is_version(folder):
        return "{version}"
    return "{id}" if _ID.fullmatch(folder) else folder
