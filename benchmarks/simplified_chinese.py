"""How many Chinese pages match their version in the other script, with and without simplifying.

    python benchmarks/simplified_chinese.py COLLECTION...

A collection is a folder with docs.jsonl, as ``dedup evaluate`` reads it. Of each, up to 150
texts of 20 to 8,000 characters are converted by OpenCC. The extra ``opencc`` is needed.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time

from opencc import OpenCC

from dedup.extraction import language_of_script
from dedup.methods import Method, SimHash
from dedup.methods.verified import Verified
from dedup.text import Document, simplify

CONVERSIONS = ("s2t", "s2tw", "s2hk", "s2twp")
TEXTS = 150


def texts_of(folder: Path) -> list[str]:
    """Return the first different Chinese texts of a collection."""
    texts: dict[str, None] = {}
    for line in (folder / "docs.jsonl").read_text("utf-8").splitlines():
        page = json.loads(line)
        text = page["text"]
        is_chinese = page.get("kind", "page") == "page" and language_of_script(text) == "zh"
        if is_chinese and 20 <= len(text) <= 8_000:
            texts[text] = None
    return list(texts)[:TEXTS]


def matches(method: Method, one: list[str], other: list[str]) -> int:
    """Return how many pairs of texts match."""
    sketches = (
        [method.sketch(method.document(text)) for text in pair]
        for pair in zip(one, other, strict=True)
    )
    return sum(
        None not in (first, second) and method.distance(first, second) <= method.max_distance
        for first, second in sketches
    )


def rows(texts: list[str]) -> Iterator[str]:
    for conversion in CONVERSIONS:
        convert = OpenCC(conversion).convert
        others = list(map(convert, texts))
        shares = [
            f"{kind.name} {matches(method, texts, others) / len(texts):.1%}{told}"
            for kind in (SimHash, Verified)
            for method, told in ((kind(), " without"), (kind().simplifying_chinese(), ""))
        ]
        yield f"{conversion}: {', '.join(shares)}"


def main() -> None:
    texts = [text for folder in sys.argv[1:] for text in texts_of(Path(folder))]
    print(f"{len(texts)} texts of {sum(map(len, texts)) / len(texts):,.0f} characters")
    print(*rows(texts), sep="\n")
    simplify("字")
    for name, work in (
        ("simplifying", simplify),
        ("words", lambda text: Document.from_main_text(text).tokens),
    ):
        start = process_time()
        for text in texts:
            work(text)
        print(f"{name}: {1000 * (process_time() - start) / len(texts):.3f} ms a page")


if __name__ == "__main__":
    main()
