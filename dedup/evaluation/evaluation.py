"""A collection and a method -> precision, recall, F1 and cost."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from time import process_time
from typing import Any

from dedup.evaluation.collection import Collection, Pair
from dedup.evidence import Demands, Names, Witness
from dedup.lost_text import LostText, lost_with
from dedup.methods.base import Method
from dedup.rule import Rule
from dedup.scopes import host
from dedup.search import index_for, order_to_compare

_UNCOUNTED = ("part", "grey")


@dataclass(frozen=True)
class Evaluation:
    """The scores of a method on a collection, and its cost.

    *pairs_found* are those that count, right or false. *f1_edited* counts only pairs whose
    normalised texts differ. *cpu_ms_per_page* is the time of sketch and search, without extraction
    and tokens. *pages_per_s* is the number of main texts that one core tokenises, sketches and
    searches per second. *bytes_per_page* is the memory of the index. *lost_text* is what would be
    lost of the main texts if the later page of each pair found were dropped, right or false, unless
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
    pages_per_s: float
    cpu_ms_per_page: float
    bytes_per_page: float
    lost_text: LostText
    pages_with_evidence: int
    false_pairs: list[Pair] = field(repr=False)
    missed_pairs: list[Pair] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the rounded figures; only the numbers of false and missed pairs, not the pairs."""
        values = asdict(self)
        values["false_pairs"], values["missed_pairs"] = (
            len(self.false_pairs),
            len(self.missed_pairs),
        )
        lost = self.lost_text._asdict()
        values["lost_text"] = lost | {name: round(lost[name], 6) for name in ("share", "error")}
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
        pages_per_s=pages / (collection.seconds_for_tokens + seconds),
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
    hosts = [host(key) for key in collection.keys]
    for number, evidence in collection.evidence.items():
        if hosts[number]:
            names.learn(hosts[number], evidence)
    known = {
        number: names.of(hosts[number], evidence)
        for number, evidence in collection.evidence.items()
        if hosts[number]
    }
    witnesses = [
        Witness(document.token_count, collection.evidence.get(number))
        for number, document in enumerate(documents)
    ]
    return {
        (page, original)
        for page, original in copies
        if not rule.objection(
            witnesses[page],
            witnesses[original],
            is_exact=documents[page].text == documents[original].text,
            finds_parts=method.finds_parts,
            names=known.get(page),
        )
    }


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
