"""How often methods take unrelated texts for near-duplicates: English and Chinese, 10^7 pairs each.

    python benchmarks/unrelated.py FOLDER [--method NAME ...] [--pairs N] [--json FILE]

FOLDER holds labelled/reuters_a and labelled/laws_zh_a (docs.jsonl). Their documents are cut into
pieces of 200 words; every two pieces of different documents are a pair. A pair that a method calls
a match is looked at: if fewer than 3 of 10 of its word 3-shingles are the same (exact Jaccard
similarity), it is false; else the two documents do share that text.
"""

import argparse
import json
import math
import sys
from pathlib import Path

from dedup.evaluation import read_collection
from dedup.methods import METHODS
from dedup.methods.shingles import shingle_hashes
from dedup.search import index_for
from dedup.text import Document

COLLECTIONS = {"English": "reuters_a", "Chinese": "laws_zh_a"}
WORDS = 200
RELATED = 0.3


def pieces(folder: Path, wanted: int) -> list[tuple[int, str]]:
    """Return about *wanted* texts from all documents, each with the number of its document."""
    collection = read_collection(folder)
    cut = []
    for number, text in enumerate(collection.texts):
        tokens = Document.from_main_text(text).tokens
        cut += [
            (number, " ".join(tokens[start : start + WORDS]))
            for start in range(0, len(tokens) - WORDS // 2, WORDS)
        ]
    step = max(1, len(cut) // wanted)
    return cut[::step]


def jaccard(one: str, other: str) -> float:
    first, second = ({*shingle_hashes(text.split(), 3).tolist()} for text in (one, other))
    return len(first & second) / len(first | second)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--method", nargs="+", default=["simhash", "verified"], choices=METHODS)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    results = []
    for language, name in COLLECTIONS.items():
        texts = pieces(
            arguments.folder / "labelled" / name, math.ceil(math.sqrt(2.2 * arguments.pairs))
        )
        of_document: dict[int, int] = {}
        for number, _ in texts:
            of_document[number] = of_document.get(number, 0) + 1
        pairs = math.comb(len(texts), 2) - sum(math.comb(n, 2) for n in of_document.values())
        for method_name in arguments.method:
            method = METHODS[method_name]()
            index = index_for(method)
            false = related = 0
            for place, (number, text) in enumerate(texts):
                sketch = method.sketch(Document.from_main_text(text))
                if sketch is None:
                    continue
                for match in index.query_all(sketch):
                    other, other_text = texts[match.page]
                    if other != number:
                        is_related = jaccard(text, other_text) >= RELATED
                        related += is_related
                        false += not is_related
                index.add(sketch, place)
            row = {
                "language": language,
                "method": method_name,
                "texts": len(texts),
                "pairs": pairs,
                "false_matches": false,
                "false_match_rate": false / pairs,
                "matches_that_share_text": related,
            }
            results.append(row)
            print(json.dumps(row), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
