"""The numbers in a text, which near-duplicates have in common."""

import re
from hashlib import blake2b

from dedup.text import beyond_ascii

_MOST_CHARACTERS = 400
"""Of so many, some 80 numbers, each is kept for each body that a crawl reads."""
# Also those above a line, and fractions.
_DIGITS = "[\\d\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2079\u2150-\u215e]+"
_CURRENCIES = "$£¥₩€₹₺₽"
_MINUS = "-\u2212"
_UNIT = r"[^\W\d_]{1,3}"
_NUMBER = re.compile(
    rf"({_DIGITS}(?:(?<!\d{{4}})(?:[ \u00a0\u2009\u202f]\d{{3}})+(?!\d))?"  # 1 500
    rf"(?:[.,:/'\u2019\u2013-]{_DIGITS}|[a-zA-Z]+\d+)*)"  # 1,250.50; 9:30; 4x4
    rf"(?:\s*(°?{_UNIT}(?:/{_UNIT})?|[%°{_CURRENCIES}])(?!\w))?"
)
_CHINESE_DIGITS = "[〇零一二两三四五六七八九十百千万亿]"
_CHINESE_DIGIT = re.compile(_CHINESE_DIGITS)
_CHINESE_NUMBER = re.compile(  # where they begin, so that many are not counted again from each one
    rf"(?<!{_CHINESE_DIGITS})(?!一(?!{_CHINESE_DIGITS})){_CHINESE_DIGITS}+\w?"
)


def numbers_in(text: str) -> tuple[str, ...]:
    """Return the numbers in *text*, each once, sorted; of very many, what stands for them all.

    Each has its currency, or its unit: up to three letters, or two such, as mg/ml. Those that signs
    join are one, as dates, times and scores, and so are groups of three digits. Those in Chinese
    signs have the sign that follows; 一 alone is none. Nor are versions that follow a v.

    >>> numbers_in("Brew v1.9: 2 rooms, 1 250 EUR from 1.5.26, 9:30, at -10 °C, or 3 km/h")
    ('-10°C', '1.5.26', '1250EUR', '2', '3km/h', '9:30')
    """
    has_chinese = _CHINESE_DIGIT.search(beyond_ascii(text))
    found = {*_CHINESE_NUMBER.findall(text)} if has_chinese else set()
    for match in _NUMBER.finditer(text):
        (number, unit), start = match.groups(""), match.start()
        before = text[max(0, start - 1) : start]
        if before in ("v", "V") and "." in number:
            continue
        if before.isascii() and before.isalpha():  # a V8 has no unit
            unit = ""
        elif before in _CURRENCIES or (
            before in _MINUS and not text[max(0, start - 2) : start - 1].strip()
        ):
            number = before + number
        found.add("".join(number.split()) + unit)
    numbers = tuple(sorted(found))
    together = " ".join(numbers)
    if len(together) <= _MOST_CHARACTERS:
        return numbers
    digest = blake2b(together.encode(), digest_size=8).hexdigest()
    return (f"{len(numbers)} numbers ({digest})",)
