"""Labelled collections -> precision, recall and F1 of methods."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

from dedup.extraction import Extractor
from dedup.methods import Method
from dedup.search import index_for
from dedup.text import Document, tokenise

LABELS = ("dup", "part", "grey", "tmpl")
_IGNORED = ("part", "grey")
Pair = tuple[int, int]
"""Numbers of two pages, the lower first."""


class CollectionError(ValueError):
    """A collection cannot be read; the message names the file, the line and what is wrong."""


@dataclass(frozen=True)
class Collection:
    """Pages, and the labels of pairs of them.

    A pair labelled "dup" is to be found, "part" and "grey" do not count, and any other is not to be
    found.
    """

    name: str
    keys: list[str]
    texts: list[str]
    labels: dict[Pair, str]

    @cached_property
    def _documents_and_seconds(self) -> tuple[list[Document], float]:
        start = process_time()
        documents = [Document.from_main_text(text) for text in self.texts]
        for document in documents:
            assert document.tokens is not None
        return documents, process_time() - start

    @property
    def documents(self) -> list[Document]:
        """The pages, cut into tokens: once for all methods."""
        return self._documents_and_seconds[0]

    @property
    def seconds_for_tokens(self) -> float:
        """The CPU time that it took to cut all pages into tokens."""
        return self._documents_and_seconds[1]

    def __len__(self) -> int:
        return len(self.texts)


def read_collection(
    folder: Path, *, min_tokens: int = 20, extractor: Extractor | None = None
) -> Collection:
    """Read ``docs.jsonl`` and ``pairs.tsv`` of *folder*.

    A line of docs.jsonl is an object with "id" and "text"; "kind", if there is one, must be "page",
    and "html" may name a file of the folder, whose main text *extractor* takes instead of "text".
    pairs.tsv has columns "id1", "id2" and "label" (dup, part, grey, tmpl). Pages of fewer than
    *min_tokens* tokens are left out; Han characters count one each, and "ntok", if there is one, is
    taken as it is. Pairs of pages that are left out are, too.

    Raises CollectionError for what cannot be read.
    """
    keys: list[str] = []
    texts: list[str] = []
    seen: set[str] = set()
    for number, page in _objects(folder / "docs.jsonl"):
        key, text = page.get("id"), page.get("text")
        where = f"{folder / 'docs.jsonl'}, line {number}"
        if not isinstance(key, str) or not isinstance(text, str):
            raise CollectionError(f'{where}: "id" and "text" must be strings')
        if key in seen:
            raise CollectionError(f"{where}: the id {key!r} was there before")
        seen.add(key)
        size, html = page.get("ntok"), page.get("html")
        if not (size is None or (isinstance(size, int) and size >= 0)):
            raise CollectionError(f'{where}: "ntok" must be a whole number, got {size!r:.80}')
        if page.get("kind", "page") != "page":
            continue
        if (_size(text) if size is None else size) < min_tokens:
            continue
        if extractor and html:
            text = _extracted(folder, html, where, extractor)
        keys.append(key)
        texts.append(text)
    if not keys:
        raise CollectionError(f"{folder / 'docs.jsonl'} has no page of {min_tokens} tokens or more")
    labels = _labels(folder / "pairs.tsv", {key: n for n, key in enumerate(keys)}, seen)
    return Collection(folder.resolve().name, keys, texts, labels)


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    page = json.loads(line)
                    if not isinstance(page, dict):
                        raise CollectionError(f"{path}, line {number}: must be a JSON object")
                    yield number, page
    except CollectionError:
        raise
    except OSError as error:
        raise CollectionError(f"{path} cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise CollectionError(f"{path} is not UTF-8 ({error})") from error
    except (ValueError, RecursionError) as error:
        raise CollectionError(f"{path}, line {number}: no JSON ({error})") from error


def _labels(path: Path, numbers: Mapping[str, int], known: set[str]) -> dict[Pair, str]:
    labels: dict[Pair, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            missing = {"id1", "id2", "label"} - set(rows.fieldnames or ())
            if missing:
                raise CollectionError(f"{path} lacks the columns {', '.join(sorted(missing))}")
            for row in rows:
                where = f"{path}, line {rows.line_num}"
                keys = row["id1"], row["id2"]
                if row["label"] not in LABELS:
                    choices = ", ".join(LABELS)
                    raise CollectionError(f"{where}: label must be one of {choices}")
                for key in keys:
                    if key not in known:
                        raise CollectionError(f"{where}: there is no page {key!r}")
                if keys[0] == keys[1]:
                    raise CollectionError(f"{where}: a page is no pair with itself")
                if keys[0] in numbers and keys[1] in numbers:
                    one, other = sorted(numbers[key] for key in keys)
                    if labels.setdefault((one, other), row["label"]) != row["label"]:
                        raise CollectionError(f"{where}: the pair had another label before")
    except OSError as error:
        raise CollectionError(f"{path} cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise CollectionError(f"{path} is no table in UTF-8 ({error})") from error
    return labels


def _size(text: str) -> int:
    return sum(len(word) if word > "\u2e80" else 1 for word in tokenise(text))


def _extracted(folder: Path, html: Any, where: str, extractor: Extractor) -> str:
    if not isinstance(html, str) or "\0" in html:
        raise CollectionError(f'{where}: "html" must be the name of a file')
    path = folder / html
    if not path.resolve().is_relative_to(folder.resolve()):
        raise CollectionError(f'{where}: "html" must be a file of the folder, got {html!r}')
    try:
        content = path.read_text("utf-8", "replace")
    except OSError as error:
        raise CollectionError(f"{path} cannot be read ({error.strerror})") from error
    extracted = extractor(content)
    return extracted if isinstance(extracted, str) else extracted.text if extracted else ""


@dataclass(frozen=True)
class Evaluation:
    """What a method found in a collection, and at what cost.

    *pairs_found* are those that count, right or false; *f1_edited* counts only pairs whose
    normalised texts differ. *cpu_ms_per_page* is what sketch and search take beyond extraction and
    tokens, *pages_per_s* how many main texts are cut into tokens, sketched and searched in a second
    of one core, *bytes_per_page* the memory of the index.
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
    false_pairs: list[Pair] = field(repr=False)
    missed_pairs: list[Pair] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return all but the pairs, with the numbers rounded."""
        values = asdict(self)
        values["false_pairs"], values["missed_pairs"] = (
            len(self.false_pairs),
            len(self.missed_pairs),
        )
        return {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in values.items()
        }


def evaluate(
    collection: Collection, method: Method, progress: Callable[[], object] = lambda: None
) -> Evaluation:
    """Find the pairs of *collection* with *method* and its own index, and compare with the labels.

    *progress* is called for every page.
    """
    index = index_for(method)
    documents = collection.documents
    found: set[Pair] = set()
    spent = 0.0
    for number, document in enumerate(documents):
        before = process_time()
        sketch = method.sketch(document)
        if sketch is not None:
            found.update((match.page, number) for match in index.query_all(sketch))
            index.add(sketch, number)
        spent += process_time() - before
        progress()
    pages = max(1, len(collection))
    false, missed, scores = compare(found, collection, [document.text for document in documents])
    return Evaluation(
        collection=collection.name,
        method=method.name,
        parameters=method.parameters,
        pages=len(collection),
        **scores,
        pages_per_s=pages / (collection.seconds_for_tokens + spent),
        cpu_ms_per_page=1000 * spent / pages,
        bytes_per_page=index.nbytes / pages,
        false_pairs=false,
        missed_pairs=missed,
    )


def compare(
    found: Iterable[Pair], collection: Collection, texts: list[str]
) -> tuple[list[Pair], list[Pair], dict[str, Any]]:
    """Return the false and the missed pairs, and precision, recall, F1 and F1 of edited pairs.

    Without pairs found, precision is 1; without pairs to find, recall is 1.
    """
    labels = collection.labels
    counted = {pair for pair in found if labels.get(pair) not in _IGNORED}
    wanted = {pair for pair, label in labels.items() if label == "dup"}
    right = counted & wanted
    precision = len(right) / len(counted) if counted else 1.0
    recall = len(right) / len(wanted) if wanted else 1.0
    edited = [
        {(one, other) for one, other in pairs if texts[one] != texts[other]}
        for pairs in (right, counted, wanted)
    ]
    scores = {
        "pairs_found": len(counted),
        "pairs_to_find": len(wanted),
        "precision": precision,
        "recall": recall,
        "f1": _f1(len(right), len(counted), len(wanted)),
        "f1_edited": _f1(*map(len, edited)),
    }
    return sorted(counted - wanted), sorted(wanted - counted), scores


def _f1(right: int, found: int, wanted: int) -> float:
    return 2 * right / (found + wanted) if found + wanted else 1.0


def sweep_of(kind: type[Method], arguments: Mapping[str, Any]) -> list[Method]:
    """Return the method with each value of its `sweep`, but for those out of range.

    Just the method if it has no such values. Raises ValueError if no value is in range.
    """
    name, values = kind.sweep
    if not values:
        return [kind(**arguments)]
    methods = []
    for value in values:
        try:
            methods.append(kind(**{**arguments, name: value}))
        except ValueError as error:
            refused = error
    if not methods:
        raise refused
    return methods
