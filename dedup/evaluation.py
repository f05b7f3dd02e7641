"""Labelled collections of pages -> precision, recall, F1 and cost of methods."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

from dedup.evidence import Demands, Evidence, Names, Witness
from dedup.extraction import Extraction, Extractor
from dedup.lost_text import Sequences, lost_with, sequences_of
from dedup.methods.base import Method
from dedup.page import evidence_for, extracted_of
from dedup.records import RecordError
from dedup.records.base import decode_html
from dedup.records.delimited import table_rows
from dedup.records.lines import read_records
from dedup.rule import Rule
from dedup.scopes import host
from dedup.search import Pair, index_for, order_to_compare
from dedup.text import Document
from dedup.units import ratio

LABELS = ("dup", "part", "grey", "tmpl")
Errors = dict[str, list[Pair]]
"""The "false" pairs, which are none, and the "missed" ones."""
_UNCOUNTED = ("part", "grey")


@dataclass
class Collection:
    """Pages, and the labels of pairs of them.

    A method should find the pairs labelled "dup" and no others; "part" and "grey" do not count.
    """

    name: str
    keys: list[str]
    documents: list[Document]
    labels: dict[Pair, str]
    evidence: Mapping[int, Evidence] = field(default_factory=dict)
    """What the pages that were read from HTML show besides their texts, by number."""

    @cached_property
    def sequences(self) -> list[Sequences]:
        return sequences_of(self.documents)


def read_collection(
    folder: Path, method: Method, *, min_tokens: int = 20, extractor: Extractor | None = None
) -> Collection:
    """Read ``docs.jsonl`` and ``pairs.tsv`` of *folder*, as *method* sees Chinese.

    A line of docs.jsonl is an object with "id" and "text". Objects whose "kind" is not "page" are
    skipped. "html" may name a file in the folder; *extractor* then extracts the main text from it,
    instead of "text". pairs.tsv has the columns "id1", "id2" and "label" (dup, part, grey, tmpl).

    Pages with a "text" of fewer than *min_tokens* tokens are skipped with their pairs. Raises
    RecordError if a file is malformed.
    """
    numbers: dict[str, int | None] = {}
    documents: list[Document] = []
    evidence: dict[int, Evidence] = {}
    for where, record in read_records(folder / "docs.jsonl"):
        page = record.fields
        key, text = page.get("id"), page.get("text")
        if not isinstance(key, str) or not isinstance(text, str):
            raise RecordError(f'{where}: "id" and "text" must be strings')
        if key in numbers:
            raise RecordError(f"{where}: the id {key!r} is a repetition")
        numbers[key] = None
        document = method.document(text)
        if page.get("kind", "page") != "page" or document.word_count < min_tokens:
            continue
        if extractor and page.get("html"):
            extraction = _extract(folder, page["html"], where, extractor)
            document = method.document(extraction.text)
            if seen := evidence_for(method, extraction):
                evidence[len(documents)] = seen
        numbers[key] = len(documents)
        documents.append(document)
    if not documents:
        raise RecordError(f"{folder / 'docs.jsonl'} has no page of {min_tokens} tokens or more")
    keys = [key for key, number in numbers.items() if number is not None]
    labels = _labels(folder / "pairs.tsv", numbers)
    return Collection(folder.resolve().name, keys, documents, labels, evidence)


def _labels(path: Path, numbers: Mapping[str, int | None]) -> dict[Pair, str]:
    labels: dict[Pair, str] = {}
    # An id may begin with a quote.
    rows = table_rows(path, "id1", "id2", "label", quoting=csv.QUOTE_NONE)
    for where, (one, other, label) in rows:
        if label not in LABELS:
            raise RecordError(f"{where}: label must be one of {', '.join(LABELS)}, got {label!r}")
        if unknown := [key for key in (one, other) if key not in numbers]:
            raise RecordError(f"{where}: there is no page {unknown[0]!r}")
        if one == other:
            raise RecordError(f"{where}: a page cannot pair with itself")
        match numbers[one], numbers[other]:
            case int(first), int(second):
                pair = min(first, second), max(first, second)
                if labels.setdefault(pair, label) != label:
                    raise RecordError(f"{where}: the pair already has another label")
    return labels


def _extract(folder: Path, html: Any, where: str, extractor: Extractor) -> Extraction:
    is_name = isinstance(html, str) and "\0" not in html
    if not (is_name and (folder / html).resolve().is_relative_to(folder.resolve())):
        raise RecordError(f'{where}: "html" must be the name of a file in the folder, got {html!r}')
    return extracted_of(decode_html((folder / html).read_bytes()), extractor, is_document=True)


def evaluate(
    collection: Collection,
    method: Method,
    progress: Callable[[], object] = lambda: None,
    *,
    demands: Demands | None = None,
) -> tuple[dict[str, Any], Errors]:
    """Return figures for JSON of how good *method* is on *collection*, and what it does wrong.

    The pairs that it finds with its index are compared with the labels. Equal texts are found
    whatever the method says of them, as in a crawl and a scan. *progress* is called for every page.
    *demands*: what is asked of the evidence of a pair, as in a crawl; ``None`` for nothing, so that
    the method alone is scored.

    Of the figures, "pairs_found" are those that count, right or false. "f1_edited" counts only
    pairs whose normalised texts differ. "cpu_ms_per_page" is the time of sketch and search, without
    extraction and tokens. "bytes_per_page" is the memory of the index. "lost_text" is what would be
    lost of the main texts if the later page of each pair found were dropped, right or false, unless
    the earlier one was; of a method that finds parts, the shorter page in place of the later one.
    "pages_with_evidence": those that were read from HTML.
    """
    index = index_for(method)
    documents = collection.documents
    for document in documents:
        _ = document.tokens  # computed here, once for all methods
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
        if method.sketch_bytes(documents[number], sketch) is not None:
            copies.update((number, match.page) for match in index.query_all(sketch))
            index.add(sketch, number)
        seconds += process_time() - before
        progress()
    if demands:
        copies = _without_objections(copies, collection, method, demands)
    pairs = {(min(pair), max(pair)) for pair in copies}
    scores, errors = score(pairs, collection)
    figures = {
        "collection": collection.name,
        "method": method.name,
        "parameters": method.parameters,
        "pages": len(documents),
        **scores,
        "cpu_ms_per_page": 1000 * seconds / len(documents),
        "bytes_per_page": index.nbytes / len(documents),
        "lost_text": lost_with(pairs, collection.sequences, order)._asdict(),
        "pages_with_evidence": len(collection.evidence),
        **{f"{kind}_pairs": len(wrong) for kind, wrong in errors.items()},
    }
    return figures, errors


def _without_objections(
    copies: Iterable[Pair], collection: Collection, method: Method, demands: Demands
) -> set[Pair]:
    """Return those of *copies*, pages with their originals, that a crawl would drop.

    As if it had met all pages before, so that it knows the names that pages of a host share, where
    the ids are URLs.
    """
    rule, names, documents = Rule(demands=demands), Names(), collection.documents
    evidence, keys = collection.evidence, collection.keys
    for number, page in evidence.items():
        names.learn(host(keys[number]), page)

    def is_dropped(page: int, original: int) -> bool:
        name, shown = host(keys[page]), evidence.get(page)
        witnesses = (Witness(documents[n].word_count, evidence.get(n)) for n in (page, original))
        return rule.objection(
            *witnesses,
            is_exact=documents[page].text == documents[original].text,
            finds_parts=method.finds_parts,
            names=names.of(name, shown) if name and shown else None,
        ) is None  # fmt: skip

    return {pair for pair in copies if is_dropped(*pair)}


def score(pairs: Iterable[Pair], collection: Collection) -> tuple[dict[str, Any], Errors]:
    """Return precision, recall, F1 and F1 of edited pairs, and what is wrong with *pairs*.

    Without pairs found, precision is 1; without pairs to find, recall is 1.
    """
    labels, documents = collection.labels, collection.documents
    found = {pair for pair in pairs if labels.get(pair) not in _UNCOUNTED}
    targets = {pair for pair, label in labels.items() if label == "dup"}
    right = found & targets
    right_edited, found_edited, targets_edited = (
        sum(documents[a].text != documents[b].text for a, b in group)
        for group in (right, found, targets)
    )
    scores = {
        "pairs_found": len(found),
        "pairs_to_find": len(targets),
        "precision": ratio(len(right), len(found)),
        "recall": ratio(len(right), len(targets)),
        "f1": ratio(2 * len(right), len(found) + len(targets)),
        "f1_edited": ratio(2 * right_edited, found_edited + targets_edited),
    }
    return scores, {"false": sorted(found - targets), "missed": sorted(targets - found)}
