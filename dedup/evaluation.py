"""Labelled collections of pages -> precision, recall, F1 and cost of methods."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

from dedup.evidence import Demands, Evidence, Names, Witness
from dedup.extraction import Extraction, Extractor
from dedup.lost_text import LostText, Sequences, lost_with, sequences_of
from dedup.methods.base import Method
from dedup.records import RecordError
from dedup.records.delimited import table_rows
from dedup.records.lines import read_records
from dedup.rule import Rule
from dedup.scopes import host
from dedup.search import index_for, order_to_compare
from dedup.text import Document, simplify, tokenise

LABELS = ("dup", "part", "grey", "tmpl")
Pair = tuple[int, int]
"""Numbers of two pages, the lower first."""
_UNCOUNTED = ("part", "grey")


@dataclass
class Collection:
    """Pages, and the labels of pairs of them.

    A method should find the pairs labelled "dup" and no others; "part" and "grey" do not count.
    """

    name: str
    keys: list[str]
    texts: list[str]
    labels: dict[Pair, str]
    evidence: Mapping[int, Evidence] = field(default_factory=dict)
    """What the pages that were read from HTML show besides their texts, by number."""
    simplify_chinese: bool = False
    """Whether all methods see Chinese in Simplified characters."""

    @cached_property
    def documents(self) -> list[Document]:
        """The pages, with their tokens, which are computed once for all methods."""
        documents = [
            Document.from_main_text(text, simplify_chinese=self.simplify_chinese)
            for text in self.texts
        ]
        for document in documents:
            _ = document.tokens  # computed here, once
        return documents

    @cached_property
    def sequences(self) -> list[Sequences]:
        return sequences_of(self.documents)

    def __len__(self) -> int:
        return len(self.texts)


def read_collection(
    folder: Path,
    *,
    min_tokens: int = 20,
    extractor: Extractor | None = None,
    simplify_chinese: bool = False,
) -> Collection:
    """Read ``docs.jsonl`` and ``pairs.tsv`` of *folder*.

    A line of docs.jsonl is an object with "id" and "text". Objects whose "kind" is not "page" are
    skipped. "html" may name a file in the folder; *extractor* then extracts the main text from it,
    instead of "text". pairs.tsv has the columns "id1", "id2" and "label" (dup, part, grey, tmpl).

    Pages with fewer than *min_tokens* tokens are skipped with their pairs. "ntok" is the number of
    tokens; without it they are counted, each Han character as one.

    Raises RecordError if a file is malformed.
    """
    numbers: dict[str, int] = {}
    texts: list[str] = []
    evidence: dict[int, Evidence] = {}
    ids: set[str] = set()
    for where, page in _pages(folder / "docs.jsonl"):
        if page["id"] in ids:
            raise RecordError(f"{where}: the id {page['id']!r} is a repetition")
        ids.add(page["id"])
        text, tokens = page["text"], page.get("ntok")
        if page.get("kind", "page") != "page":
            continue
        if (_size(text) if tokens is None else tokens) < min_tokens:
            continue
        if extractor and page.get("html"):
            extraction = _extract(folder, page["html"], where, extractor)
            text, seen = extraction.text, extraction.evidence
            if seen and simplify_chinese:
                seen = seen.with_title(simplify(extraction.title or ""))
            if seen:
                evidence[len(texts)] = seen
        numbers[page["id"]] = len(texts)
        texts.append(text)
    if not texts:
        raise RecordError(f"{folder / 'docs.jsonl'} has no page of {min_tokens} tokens or more")
    labels = _labels(folder / "pairs.tsv", numbers, ids)
    return Collection(
        folder.resolve().name, list(numbers), texts, labels, evidence, simplify_chinese
    )


def _pages(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of *path* after their places; raises RecordError for wrong fields."""
    for where, record in read_records(path):
        page = dict(record.fields)
        if not isinstance(page.get("id"), str) or not isinstance(page.get("text"), str):
            raise RecordError(f'{where}: "id" and "text" must be strings')
        size = page.get("ntok")
        if not (size is None or (isinstance(size, int) and size >= 0)):
            raise RecordError(f'{where}: "ntok" must be a whole number, got {size!r:.80}')
        yield where, page


def _labels(path: Path, numbers: Mapping[str, int], ids: set[str]) -> dict[Pair, str]:
    labels: dict[Pair, str] = {}
    for where, (one, other, label) in table_rows(
        path, "id1", "id2", "label", quoting=csv.QUOTE_NONE
    ):
        if label not in LABELS:
            raise RecordError(f"{where}: label must be one of {', '.join(LABELS)}")
        if unknown := [key for key in (one, other) if key not in ids]:
            raise RecordError(f"{where}: there is no page {unknown[0]!r}")
        if one == other:
            raise RecordError(f"{where}: a page cannot pair with itself")
        if one in numbers and other in numbers:
            low, high = sorted((numbers[one], numbers[other]))
            if labels.setdefault((low, high), label) != label:
                raise RecordError(f"{where}: the pair already has another label")
    return labels


def _size(text: str) -> int:
    return sum(len(word) if word > "\u2e80" else 1 for word in tokenise(text))


def _extract(folder: Path, html: Any, where: str, extractor: Extractor) -> Extraction:
    if not isinstance(html, str) or "\0" in html:
        raise RecordError(f'{where}: "html" must be the name of a file')
    path = folder / html
    if not path.resolve().is_relative_to(folder.resolve()):
        raise RecordError(f'{where}: "html" must be a file of the folder, got {html!r}')
    try:
        content = path.read_text("utf-8", "replace")
    except OSError as error:
        raise RecordError(f"{path} cannot be read ({error.strerror})") from error
    result = extractor(content)
    return result if isinstance(result, Extraction) else Extraction(result or "")


@dataclass(frozen=True)
class Evaluation:
    """The scores of a method on a collection, and its cost.

    *pairs_found* are those that count, right or false. *f1_edited* counts only pairs whose
    normalised texts differ. *cpu_ms_per_page* is the time of sketch and search, without extraction
    and tokens. *bytes_per_page* is the memory of the index. *lost_text* is what would be lost of
    the main texts if the later page of each pair found were dropped, right or false, unless
    the earlier one was; of a method that finds parts, the shorter page in place of the later one.
    *pages_with_evidence*: those that were read from HTML.
    """

    collection: str
    method: str
    parameters: dict[str, Any]
    pages: int
    pairs_found: int
    pairs_to_find: int
    precision: float
    recall: float
    f1: float
    f1_edited: float
    cpu_ms_per_page: float
    bytes_per_page: float
    lost_text: LostText
    pages_with_evidence: int
    false_pairs: list[Pair] = field(repr=False)
    missed_pairs: list[Pair] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the rounded figures; only the numbers of false and missed pairs, not the pairs."""
        values, (sequences, share, error) = asdict(self), self.lost_text
        values |= {name: len(values[name]) for name in ("false_pairs", "missed_pairs")}
        lost = {"sequences": sequences, "share": round(share, 6), "error": round(error, 6)}
        values["lost_text"] = lost
        return {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in values.items()
        }


def evaluate(
    collection: Collection,
    method: Method,
    progress: Callable[[], object] = lambda: None,
    *,
    demands: Demands | None = None,
) -> Evaluation:
    """Find the pairs of *collection* with *method* and its index; compare them with the labels.

    Equal texts are found whatever the method says of them, as in a crawl and a scan.

    *progress* is called for every page. *demands*: what is asked of the evidence of a pair, as in
    a crawl; ``None`` for nothing, so that the method alone is scored.
    """
    index = index_for(method)
    documents = collection.documents
    copies: set[Pair] = set()  # those that would be dropped, each with what was stored before
    equal: defaultdict[str, list[int]] = defaultdict(list)
    seconds = 0.0
    order = order_to_compare(method, documents)
    for number in order:
        before = process_time()
        if text := documents[number].text:
            copies.update((number, other) for other in equal[text])
            equal[text].append(number)
        sketch = method.sketch(documents[number])
        if sketch is not None:
            copies.update((number, match.page) for match in index.query_all(sketch))
            index.add(sketch, number)
        seconds += process_time() - before
        progress()
    if demands:
        copies = _without_objections(copies, collection, method, demands)
    pairs = {(min(pair), max(pair)) for pair in copies}
    pages = max(1, len(collection))
    false, missed, scores = compare(pairs, collection, [document.text for document in documents])
    return Evaluation(
        collection=collection.name,
        method=method.name,
        parameters=method.parameters,
        pages=len(collection),
        **scores,
        cpu_ms_per_page=1000 * seconds / pages,
        bytes_per_page=index.nbytes / pages,
        lost_text=lost_with(pairs, collection.sequences, order),
        pages_with_evidence=len(collection.evidence),
        false_pairs=false,
        missed_pairs=missed,
    )


def _without_objections(
    copies: Iterable[Pair], collection: Collection, method: Method, demands: Demands
) -> set[Pair]:
    """Return those of *copies*, pages with their originals, that a crawl would drop.

    As if it had met all pages before, so that it knows the names that pages of a host share, where
    the ids are URLs.
    """
    rule, names, documents = Rule(demands=demands), Names(), collection.documents
    hosts = {n: name for n in collection.evidence if (name := host(collection.keys[n]))}
    for number, name in hosts.items():
        names.learn(name, collection.evidence[number])
    witnesses = [
        Witness(document.token_count, collection.evidence.get(number))
        for number, document in enumerate(documents)
    ]

    def is_kept(page: int, original: int) -> bool:
        known = names.of(hosts[page], collection.evidence[page]) if page in hosts else None
        return rule.objection(
            witnesses[page],
            witnesses[original],
            is_exact=documents[page].text == documents[original].text,
            finds_parts=method.finds_parts,
            names=known,
        ) is not None  # fmt: skip

    return {pair for pair in copies if not is_kept(*pair)}


def compare(
    pairs: Iterable[Pair], collection: Collection, texts: list[str]
) -> tuple[list[Pair], list[Pair], dict[str, Any]]:
    """Return the false and the missed pairs, and precision, recall, F1 and F1 of edited pairs.

    Without pairs found, precision is 1; without pairs to find, recall is 1.
    """
    labels = collection.labels
    results = {pair for pair in pairs if labels.get(pair) not in _UNCOUNTED}
    targets = {pair for pair, label in labels.items() if label == "dup"}
    right = results & targets
    precision = len(right) / len(results) if results else 1.0
    recall = len(right) / len(targets) if targets else 1.0
    edits = [sum(texts[a] != texts[b] for a, b in group) for group in (right, results, targets)]
    scores = {
        "pairs_found": len(results),
        "pairs_to_find": len(targets),
        "precision": precision,
        "recall": recall,
        "f1": _f1(len(right), len(results), len(targets)),
        "f1_edited": _f1(*edits),
    }
    return sorted(results - targets), sorted(targets - results), scores


def _f1(right: int, results: int, targets: int) -> float:
    return 2 * right / (results + targets) if results + targets else 1.0


def sweep_of(kind: type[Method], arguments: Mapping[str, Any]) -> list[Method]:
    """Return the method with each value of its `sweep` that is in range.

    Return only the method itself if it has no sweep. Raises ValueError if no value is in range.
    """
    name, values = kind.sweep
    if not values:
        return [kind(**arguments)]
    methods = []
    for value in values:
        try:
            methods.append(kind(**{**arguments, name: value}))
        except ValueError as error:
            last_error = error
    if not methods:
        raise last_error
    return methods
