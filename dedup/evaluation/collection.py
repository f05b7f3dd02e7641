"""Labelled collections: pages, and which pairs of them are duplicates."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

from dedup.evidence import Evidence
from dedup.extraction import Extraction, Extractor
from dedup.lost_text import Sequences, sequences_of
from dedup.records import RecordError
from dedup.records.delimited import table_rows
from dedup.records.lines import read_records
from dedup.text import Document, simplify, tokenise

LABELS = ("dup", "part", "grey", "tmpl")
Pair = tuple[int, int]
"""Numbers of two pages, the lower first."""


@dataclass(frozen=True)
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
    def _documents_and_seconds(self) -> tuple[list[Document], float]:
        start = process_time()
        documents = [
            Document.from_main_text(text, simplify_chinese=self.simplify_chinese)
            for text in self.texts
        ]
        for document in documents:
            assert document.tokens is not None
        return documents, process_time() - start

    @property
    def documents(self) -> list[Document]:
        """The pages, with their tokens, which are computed once for all methods."""
        return self._documents_and_seconds[0]

    @property
    def seconds_for_tokens(self) -> float:
        """The CPU time to tokenise all pages."""
        return self._documents_and_seconds[1]

    @cached_property
    def sequences(self) -> list[Sequences]:
        """The 3-word sequences of each page, computed once for all methods."""
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
            text = extraction.text
            if extraction.evidence:
                title = extraction.title or ""
                evidence[len(texts)] = (
                    extraction.evidence.with_title(simplify(title))
                    if simplify_chinese
                    else extraction.evidence
                )
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
