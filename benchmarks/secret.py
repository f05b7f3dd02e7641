"""What a secret costs: the sketches of each method with one and without, and the digests.

    python benchmarks/secret.py labelled/reuters_a/docs.jsonl

All is measured in turns, on the same texts, in one process; compare ratios only.
"""

import argparse
import json
from hashlib import blake2b
from pathlib import Path
from statistics import median
from time import process_time

import xxhash

from dedup.methods import METHODS
from dedup.methods.keyed import KeyedHashing
from dedup.text import Document

_ROUNDS = 5
_BODY = 60_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", type=Path, help="JSONL with the field text")
    parser.add_argument("--pages", type=int, default=1000)
    options = parser.parse_args()
    lines = options.texts.read_text("utf-8").splitlines()[: options.pages]
    documents = [Document.from_main_text(json.loads(line)["text"]) for line in lines]
    documents = [document for document in documents if document.tokens]
    hashing = KeyedHashing("correct horse battery staple")
    tokens = sum(document.token_count for document in documents) / len(documents)
    print(f"{len(documents):,} pages of {tokens:,.0f} words on average; µs a page")
    print(f"{'method':20} {'without':>8} {'with':>8} {'times':>6}")
    for name, kind in METHODS.items():
        plain = kind()
        methods = (plain, plain.with_hashing(hashing))
        seconds: tuple[list[float], list[float]] = ([], [])
        for _ in range(_ROUNDS):
            for method, taken in zip(methods, seconds, strict=True):
                start = process_time()
                for document in documents:
                    method.sketch(document)
                taken.append(process_time() - start)
        # The first round loads lexicons, and fills what is remembered.
        without, with_one = (1e6 * median(taken[1:]) / len(documents) for taken in seconds)
        print(f"{name:20} {without:8.0f} {with_one:8.0f} {with_one / without:6.2f}")
    texts = [document.text.encode() for document in documents]
    for what, contents in (("text", texts), (f"{_BODY // 1000} kB", [bytes(_BODY)] * 2000)):
        taken = []
        for digest in (xxhash.xxh3_128_digest, lambda data: blake2b(data, digest_size=16).digest()):
            start = process_time()
            for content in contents:
                digest(content)
            taken.append(1e6 * (process_time() - start) / len(contents))
        print(f"digest of the {what}: xxh3 {taken[0]:.1f}, BLAKE2b {taken[1]:.1f}")


if __name__ == "__main__":
    main()
