"""Judge what a crawl of labelled sites would drop, with and without a demand for evidence.

    python benchmarks/evidence.py SITE... [--orders N] [--show N] [--lost] [--cache FOLDER]

SITE is a folder with the pages, docs.jsonl and pairs.tsv. Each page is read once, and kept in
FOLDER until the code that read it changes. Then the detector of a crawl judges them, in the order
of URLs and in N random ones.

A drop is right, another record, grey or wrong as drops.py says; lost if it is wrong and no stored
page is dup, grey or part of it. Where there is no pairs.tsv, labels go by the Jaccard similarity of
the 3-word shingles of the own texts: dup from .9, grey from .75. --lost: the text that is lost, by
exact count and by samples of three sizes.
"""

import argparse
import pickle
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import trafilatura
from drops import kind_of, read_documents, read_labels
from w3lib.encoding import html_to_unicode

import dedup
from dedup.detector import Detector
from dedup.evidence import NORMAL, Demands
from dedup.extraction import EXTRACTORS
from dedup.lost_text import LostTextSample, sequences_of
from dedup.methods import METHODS
from dedup.methods.shingles import shingle_hashes
from dedup.page import Page, PageReader
from dedup.rule import Rule
from dedup.text import Document, without_surrogates

SWEEPS: dict[str, Demands | None] = {
    "today": None,
    **{f"coverage {c}": NORMAL._replace(coverage=c) for c in (0.3, 0.4, 0.5, 0.6, 0.7)},
    **{f"longer {x}": NORMAL._replace(longer=x) for x in (1.1, 1.5, 2.0)},
    **{f"titles under {n}": NORMAL._replace(titled_tokens=n) for n in (0, 100)},
    "normal": NORMAL,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sites", type=Path, nargs="+")
    parser.add_argument("--method", nargs="+", default=["simhash", "verified"])
    parser.add_argument("--orders", type=int, default=2)
    parser.add_argument("--demands", nargs="+", default=["today", "normal"])
    parser.add_argument("--show", type=int, default=0, help="how many wrong drops are shown")
    parser.add_argument("--lost", action="store_true", help="compare the estimates of lost text")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "dedup-evidence")
    arguments = parser.parse_args()
    sites = [Site(folder, arguments.cache, arguments.method) for folder in arguments.sites]
    names = list(SWEEPS) if arguments.demands == ["all"] else arguments.demands
    for name in names:
        for method in arguments.method:
            if arguments.lost:
                for site in sites:
                    compare_lost_text(site, method, name)
                continue
            for number in range(arguments.orders + 1):
                total: Counter[str] = Counter()
                for site in sites:
                    counts, wrong = site.judge(site.drops(method, SWEEPS[name], number))
                    total += counts
                    if not number and arguments.show:
                        print(
                            f"  {site.name:12} {line(counts)}", *wrong[: arguments.show], sep="\n"
                        )
                print(f"{name:17} {method:9} order {number}: {line(total)}", flush=True)
    return 0


def line(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {counts[name]}" for name in sorted(counts))


class Site:
    """The pages of a site in the order of their URLs, and what is known of them."""

    def __init__(self, folder: Path, place: Path, methods: Sequence[str]) -> None:
        self.name = folder.name
        self.documents = sorted(read_documents(folder), key=lambda one: one["url"])
        root = f"http://{folder.name}.example/"
        self.urls = [urljoin(root, document["url"]) for document in self.documents]
        self._labels = read_labels(folder) if (folder / "pairs.tsv").exists() else {}
        self._shingles = cache(self._shingles_of)
        extract = cache(EXTRACTORS["trafilatura"])

        def read(method: str) -> list[Page]:
            reader = PageReader(extract, METHODS[method]())
            bodies = ((folder / one["html"]).read_bytes() for one in self.documents)
            texts = (without_surrogates(html_to_unicode(None, body)[1]) for body in bodies)
            return list(map(reader.read_html, texts))

        self.pages = {
            method: cached(place / f"{folder.name}-{method}", lambda method=method: read(method))
            for method in methods
        }

    def drops(self, method: str, demands: Demands | None, order: int) -> list[tuple[int, int]]:
        """Return which page is dropped for which, numbers of both, in a random order but for 0."""
        numbers = list(range(len(self.documents)))
        if order:
            random.Random(order).shuffle(numbers)
        detector, drops = Detector(METHODS[method](), Rule(demands=demands)), []
        for number in numbers:
            verdict = detector.judge(self.pages[method][number].under(self.urls[number]))
            if verdict.is_duplicate:
                drops.append((number, self.urls.index(str(verdict.original))))
        return drops

    def judge(self, drops: Iterable[tuple[int, int]]) -> tuple[Counter[str], list[str]]:
        """Return how many drops of each kind there are, and the wrong ones in words."""
        drops = list(drops)
        dropped = {one for one, _ in drops}
        counts: Counter[str] = Counter()
        wrong = []
        for one, other in drops:
            copy, original = self.documents[one], self.documents[other]
            if {copy.get("kind"), original.get("kind")} & {"redirect", "empty"}:
                continue
            kind = kind_of(copy, original, self.label(one, other) or "none")
            counts[kind] += 1
            if kind == "wrong":
                near = (n for n in range(len(self.documents)) if n != one and self.label(one, n))
                is_lost = all(number in dropped for number in near)
                counts["lost"] += is_lost
                wrong.append(
                    f"    {'lost' if is_lost else kind}: {copy['url']} <- {original['url']}"
                )
        return counts, wrong

    def label(self, one: int, other: int) -> str | None:
        """Return dup, grey or part, and ``None`` of pages that are nothing of each other."""
        if self._labels:
            ids = frozenset(self.documents[number]["id"] for number in (one, other))
            label = self._labels.get(ids)
            return label if label in ("dup", "grey", "part") else None
        first, second = self._shingles(one), self._shingles(other)
        similarity = len(first & second) / max(1, len(first | second))
        return "dup" if similarity >= 0.9 else "grey" if similarity >= 0.75 else None

    def _shingles_of(self, number: int) -> frozenset[int]:
        tokens = Document.from_main_text(self.documents[number]["text"]).tokens
        return frozenset(shingle_hashes(tokens, 3).tolist())


def cached(path: Path, make: Callable[[], Any]) -> Any:
    """Return what *make* gives, or gave when the code was the same."""
    code = blake2b(trafilatura.__version__.encode(), digest_size=8)
    root = Path(dedup.__file__).parent
    for part in ("extraction", "evidence", "methods", "text", "page", "record"):
        for file in sorted((root / part).rglob("*.py")) or [root / f"{part}.py"]:
            code.update(file.read_bytes())
    path = path.with_name(f"{path.name}-{code.hexdigest()}.pickle")
    if path.exists():
        return pickle.loads(path.read_bytes())
    made = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(made))
    return made


def compare_lost_text(site: Site, method: str, name: str) -> None:
    """Print how much text was lost by exact count and by samples of three sizes."""
    documents = [Document.from_main_text(page.text or "") for page in site.pages[method]]
    own = [set(shingle_hashes(document.tokens, 3).tolist()) for document in documents]
    dropped = dict(site.drops(method, SWEEPS[name], 0))
    kept = set().union(*(own[at] for at in range(len(own)) if at not in dropped))
    lost = sum(len(own[at] - kept) for at in dropped)
    found = []
    for most in (1 << 10, 1 << 13, 1 << 17):
        sample = LostTextSample(most)
        for at, sequences in enumerate(sequences_of(documents)):
            if at in dropped:
                sample.add_dropped(sequences, site.documents[at]["url"])
            else:
                sample.add_kept(sequences)
        found.append(sample.result())
    exact = lost / max(1, found[0].sequences)
    cells = "".join(
        f" | {100 * one.share:5.2f} ± {100 * one.error:.2f}"
        f" {'' if abs(one.share - exact) <= one.error else 'OUTSIDE'}"
        for one in found
    )
    total = f"{found[0].sequences:9,} {100 * exact:5.2f} %"
    print(f"{site.name:12} {method:9} {name:7} {total}{cells}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
