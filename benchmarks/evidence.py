"""Judge what a crawl of labelled sites would drop, with and without a demand for evidence.

    python benchmarks/evidence.py SITE... [--orders N] [--show N] [--cache FOLDER] [--json FILE]

SITE is a folder with the pages, docs.jsonl and pairs.tsv. Each page is read once, and kept in
FOLDER until the code that read it changes. Then the rule of a crawl is played over them, in the
order of URLs and in N random ones: the first page is kept, a later one is dropped for the kept page
that it matches best, if there is no objection.

A drop is right if the own texts of both are equal or the pair is labelled dup; a record if they are
labelled so but have other titles of their own, grey if the label says so, else wrong; lost if wrong
and no stored page is dup or grey of it. Where there is no pairs.tsv, labels go by the Jaccard
similarity of the 3-word shingles of the own texts: dup from .9, grey from .75.
"""

import argparse
import csv
import json
import pickle
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import trafilatura
from w3lib.encoding import html_to_unicode

import dedup
from dedup import extraction
from dedup.evidence import NORMAL, Demands, Evidence, KnownNames, Names, evidence_of, objection
from dedup.lost_text import LostTextSample, sequences_of
from dedup.methods import METHODS, Method
from dedup.methods.base import KeyMethod
from dedup.methods.shingles import shingle_hashes
from dedup.page import digest_of
from dedup.text import Document, without_surrogates

MIN_TOKENS = 20
PAIRS_AT_ONCE = 2048
SWEEPS: dict[str, Demands | None] = {
    "today": None,
    **{f"coverage {c}": NORMAL._replace(coverage=c) for c in (0.3, 0.4, 0.5, 0.6, 0.7)},
    **{f"longer {x}": NORMAL._replace(longer=x) for x in (1.1, 1.5, 2.0)},
    **{f"titles under {n}": NORMAL._replace(titled_tokens=n) for n in (0, 100)},
    "normal": NORMAL,
}
T = TypeVar("T")
Text = tuple[str, str | None, str | None]
"""A main text, its title and description."""


class Read(NamedTuple):
    """What is compared of a page."""

    digest: bytes | None
    tokens: int
    evidence: Evidence


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sites", type=Path, nargs="+")
    parser.add_argument("--method", nargs="+", default=["simhash", "verified"])
    parser.add_argument("--orders", type=int, default=2)
    parser.add_argument("--demands", nargs="+", default=["today", "normal"])
    parser.add_argument("--show", type=int, default=0, help="how many wrong drops are shown")
    parser.add_argument("--lost", action="store_true", help="compare the estimates of lost text")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "dedup-evidence")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    sites = [Site(folder, arguments.cache, arguments.method) for folder in arguments.sites]
    if arguments.lost:
        compare_lost_text(sites, arguments.method)
        return 0
    names = list(SWEEPS) if arguments.demands == ["all"] else arguments.demands
    figures = []
    for name in names:
        for method in arguments.method:
            for number in range(arguments.orders + 1):
                counts = [site.judged(method, SWEEPS[name], number) for site in sites]
                figures += [
                    {"demands": name, "method": method, "order": number, "site": site.name, **own}
                    for site, own in zip(sites, counts, strict=True)
                ]
                print(f"{name:17} {method:9} order {number}: {line(sum_of(counts))}", flush=True)
        if arguments.show:
            show(sites, arguments.method, SWEEPS[name], arguments.show)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))
    return 0


class Site:
    """The pages of a site in the order of their URLs, and what is known of them."""

    def __init__(self, folder: Path, cache: Path, methods: Sequence[str]) -> None:
        self.name = folder.name
        with (folder / "docs.jsonl").open(encoding="utf-8") as lines:
            self.documents = sorted(map(json.loads, lines), key=lambda one: one["url"])
        self._number = {one["id"]: number for number, one in enumerate(self.documents)}
        self._pairs = folder / "pairs.tsv"
        self._shingles: dict[int, frozenset[int]] = {}
        texts = cached(cache, f"{folder.name}-texts", ["extraction"], lambda: extract(self, folder))
        self.texts = [text for text, *_ in texts]
        pages = cached(
            cache, f"{folder.name}-pages", ["extraction", "evidence", "text", "page"],
            lambda: read(self, folder, texts),
        )  # fmt: skip
        self.pages = [Read(*page) for page in pages]
        self.matches = {
            name: cached(
                cache, f"{folder.name}-{name}", ["extraction", "text", "methods"],
                lambda name=name: matches(METHODS[name](), texts, self.pages),
            )
            for name in methods
        }  # fmt: skip

    def html_of(self, document: dict[str, Any], folder: Path) -> str:
        body = (folder / document["html"]).read_bytes()
        return without_surrogates(html_to_unicode(None, body)[1])

    def judged(self, method: str, demands: Demands | None, order: int) -> Counter[str]:
        return self.judge(self.drops(method, demands, order))[0]

    def drops(self, method: str, demands: Demands | None, order: int) -> list[tuple[int, int]]:
        """Return which page is dropped for which, numbers of both, in a random order but for 0."""
        numbers = list(range(len(self.pages)))
        if order:
            random.Random(order).shuffle(numbers)
        names = Names()
        kept: dict[int, int] = {}
        texts: defaultdict[bytes, list[int]] = defaultdict(list)
        drops = []
        for age, number in enumerate(numbers):
            page = self.pages[number]
            if page.digest is None:
                continue
            near = self.matches[method].get(number, {}).items()
            found = sorted(
                (distance, kept[other], other) for other, distance in near if other in kept
            )
            candidates = texts[page.digest] + [other for *_, other in found]
            may_drop = partial(
                self._may_drop, page, method=method, demands=demands,
                names=names.of(self.name, page.evidence),
            )  # fmt: skip
            may_go = (one for one in candidates if may_drop(one))
            original = next(may_go, None)
            if original is None:
                kept[number] = age
                texts[page.digest].append(number)
            else:
                drops.append((number, original))
            names.learn(self.name, page.evidence)
        return drops

    def _may_drop(
        self,
        page: Read,
        original: int,
        *,
        method: str,
        demands: Demands | None,
        names: KnownNames,
    ) -> bool:
        other = self.pages[original]
        return demands is None or not objection(
            page.evidence, other.evidence, tokens=page.tokens, original_tokens=other.tokens,
            is_exact=page.digest == other.digest, finds_parts=METHODS[method].finds_parts,
            demands=demands, names=names,
        )  # fmt: skip

    def judge(
        self, drops: Iterable[tuple[int, int]]
    ) -> tuple[Counter[str], list[tuple[int, int, bool]]]:
        """Return how many drops of each kind there are, and the wrong ones and whether lost."""
        drops = list(drops)
        dropped = {one for one, _ in drops}
        counts: Counter[str] = Counter()
        wrong = []
        for one, other in drops:
            copy, original = self.documents[one], self.documents[other]
            if {copy.get("kind"), original.get("kind")} & {"redirect", "empty"}:
                continue
            label = self.label(one, other)
            kind = "pages" if copy.get("kind", "page") == "page" else "listings"
            counts[f"{kind}, {label}"] += 1
            if label == "wrong":
                is_lost = all(number in dropped for number in self.near(one))
                counts["lost"] += is_lost
                wrong.append((one, other, is_lost))
        return counts, wrong

    def label(self, one: int, other: int) -> str:
        copy, original = self.documents[one], self.documents[other]
        if copy["text"] == original["text"]:
            return "right"
        label = self.labels.get(frozenset((one, other))) if self.labels else self.rule(one, other)
        titles = {copy.get("own_title"), original.get("own_title")}
        if label == "dup":
            return "record" if len(titles) == 2 and None not in titles else "right"
        return "grey" if label in ("grey", "part") else "wrong"

    def near(self, one: int) -> Iterable[int]:
        if self.labels:
            return self._near[one]
        others = (other for other in range(len(self.documents)) if other != one)
        return [other for other in others if self.rule(one, other)]

    def rule(self, one: int, other: int) -> str | None:
        first, second = (self.shingles(number) for number in (one, other))
        similarity = len(first & second) / max(1, len(first | second))
        return "dup" if similarity >= 0.9 else "grey" if similarity >= 0.75 else None

    def shingles(self, number: int) -> frozenset[int]:
        if number not in self._shingles:
            tokens = Document.from_main_text(self.documents[number]["text"]).tokens
            self._shingles[number] = frozenset(shingle_hashes(tokens, 3).tolist())
        return self._shingles[number]

    @cached_property
    def labels(self) -> dict[frozenset[int], str]:
        if not self._pairs.exists():
            return {}
        with self._pairs.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        return {
            frozenset((self._number[row["id1"]], self._number[row["id2"]])): row["label"]
            for row in rows
            if row["id1"] in self._number and row["id2"] in self._number
        }

    @cached_property
    def _near(self) -> dict[int, set[int]]:
        near: defaultdict[int, set[int]] = defaultdict(set)
        for pair, label in self.labels.items():
            if label in ("dup", "grey", "part") and len(pair) == 2:
                one, other = pair
                near[one].add(other)
                near[other].add(one)
        return near


def extract(site: Site, folder: Path) -> list[Text]:
    found = (extraction.trafilatura(site.html_of(one, folder)) for one in site.documents)
    return [(one.text, one.title, one.description) for one in found]


def read(
    site: Site, folder: Path, texts: Sequence[Text]
) -> list[tuple[bytes | None, int, Evidence]]:
    pages = []
    for document, (text, title, _) in zip(site.documents, texts, strict=True):
        tree = extraction.parse(site.html_of(document, folder))
        evidence = Evidence(1, b"", 0) if tree is None else evidence_of(tree, text, title)
        compared = Document.from_main_text(text)
        pages.append((digest_of(compared), compared.token_count, evidence))
    return pages


def matches(
    method: Method, texts: Sequence[Text], pages: Sequence[Read]
) -> dict[int, dict[int, float]]:
    """Return which pages match which, with their distances, as an index of all would find them."""
    assert isinstance(method, KeyMethod)
    documents = [Document.from_main_text(text, description) for text, _, description in texts]
    sketches = method.sketches(documents)
    sharing: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for number, (sketch, page) in enumerate(zip(sketches, pages, strict=True)):
        if sketch is not None and page.tokens >= MIN_TOKENS:
            for place, key in enumerate(method.keys(sketch)):
                sharing[place, key].append(number)
    pairs = {
        (one, other)
        for numbers in sharing.values()
        for place, one in enumerate(numbers)
        for other in numbers[place + 1 :]
    }
    both_ways = [*pairs, *(pair[::-1] for pair in pairs)]
    payloads = [None if sketch is None else method.payload(sketch) for sketch in sketches]
    found: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for start in range(0, len(both_ways), PAIRS_AT_ONCE):
        part = both_ways[start : start + PAIRS_AT_ONCE]
        columns = ([payloads[number] for number in column] for column in zip(*part, strict=True))
        distances = method.distances_of_pairs(*columns).tolist()
        for (one, other), distance in zip(part, distances, strict=True):
            if distance <= method.max_distance:
                found[one][other] = distance
    return dict(found)


def cached(folder: Path, name: str, parts: Sequence[str], make: Callable[[], T]) -> T:
    """Return what *make* gives, or gave when the code of *parts* of dedup was the same."""
    code = blake2b(trafilatura.__version__.encode(), digest_size=8)
    root = Path(dedup.__file__).parent
    for part in parts:
        for file in sorted((root / part).rglob("*.py")) or [root / f"{part}.py"]:
            code.update(file.read_bytes())
    path = folder / f"{name}-{code.hexdigest()}.pickle"
    if path.exists():
        return pickle.loads(path.read_bytes())  # type: ignore[no-any-return]
    made = make()
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(made))
    return made


def compare_lost_text(sites: Sequence[Site], methods: Sequence[str]) -> None:
    """Print how much text was lost by exact count and by samples of three sizes."""
    for site in sites:
        documents = [Document.from_main_text(text) for text in site.texts]
        own = [shingle_hashes(document.tokens, 3) for document in documents]
        sequences = sequences_of(documents)
        for method in methods:
            for name in ("today", "normal"):
                dropped = dict(site.drops(method, SWEEPS[name], 0))
                kept = set().union(
                    *(own[at].tolist() for at in range(len(own)) if at not in dropped)
                )
                lost = sum(len(set(own[at].tolist()) - kept) for at in dropped)
                found = []
                for most in (1 << 10, 1 << 13, 1 << 17):
                    sample = LostTextSample(most)
                    for at, of_page in enumerate(sequences):
                        if at in dropped:
                            sample.add_dropped(of_page, site.documents[at]["url"])
                        else:
                            sample.add_kept(of_page)
                    found.append(sample.result())
                total = found[0].sequences
                exact = lost / max(1, total)
                cells = "".join(
                    f" | {100 * one.share:5.2f} ± {100 * one.error:.2f}"
                    f" {'' if abs(one.share - exact) <= one.error else 'OUTSIDE'}"
                    for one in found
                )
                print(
                    f"{site.name:12} {method:9} {name:7} {total:9,} {100 * exact:5.2f} %{cells}",
                    flush=True,
                )


def sum_of(counts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for own in counts:
        total += own
    return total


def line(counts: Counter[str]) -> str:
    wrong = counts["pages, wrong"] + counts["listings, wrong"]
    labels = ", ".join(f"{name} {counts[name]}" for name in sorted(counts))
    return f"wrong {wrong} ({labels})"


def show(sites: Sequence[Site], methods: Sequence[str], demands: Demands | None, most: int) -> None:
    for method in methods:
        for site in sites:
            counts, wrong = site.judge(site.drops(method, demands, 0))
            print(f"  {method:9} {site.name:12} {line(counts)}")
            for one, other, is_lost in wrong[:most]:
                urls = [site.documents[number]["url"] for number in (one, other)]
                print(f"    {'lost' if is_lost else 'wrong'}: {urls[0]} <- {urls[1]}")


if __name__ == "__main__":
    sys.exit(main())
