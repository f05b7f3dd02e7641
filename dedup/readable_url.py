"""URLs as people read them."""

import re

_ESCAPES = re.compile(r"(?:%[89A-Fa-f][0-9A-Fa-f])+")


def readable_url(url: str) -> str:
    """Return *url* with the letters that it escapes, as far as browsers escape them alike.

    It leads to the same page. What is not UTF-8, cannot be printed, or is ASCII stays escaped.

    >>> readable_url("http://a/%E7%B1%B3%E7%B2%89/%20?q=%FF%e2%80%ae")
    'http://a/米粉/%20?q=%FF%e2%80%ae'
    """
    return _ESCAPES.sub(_letters, url) if "%" in url else url


def _letters(escapes: re.Match[str]) -> str:
    try:
        letters = bytes.fromhex(escapes[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return escapes[0]
    return letters if letters.isprintable() else escapes[0]
