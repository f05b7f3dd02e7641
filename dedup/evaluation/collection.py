"""Labelled collections: pages, and which pairs of them are duplicates."""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

from dedup.evidence import Evidence
from dedup.extraction import Extraction, Extractor
from dedup.lost_text import Sequences, sequences_of
from dedup.text import Document, simplify, tokenise

LABELS = ("dup", "part", "grey", "tmpl")
Pair = tuple[int, int]
"""Numbers of two pages, the lower first."""


class CollectionError(ValueError):
    """A collection cannot be read; the message names the file, the line and what is wrong."""


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

    Raises CollectionError if a file cannot be read or is malformed.
    """
    numbers: dict[str, int] = {}
    texts: list[str] = []
    evidence: dict[int, Evidence] = {}
    ids: set[str] = set()
    for where, page in _pages(folder / "docs.jsonl"):
        if page["id"] in ids:
            raise CollectionError(f"{where}: the id {page['id']!r} is a repetition")
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
        raise CollectionError(f"{folder / 'docs.jsonl'} has no page of {min_tokens} tokens or more")
    labels = _labels(folder / "pairs.tsv", numbers, ids)
    return Collection(
        folder.resolve().name, list(numbers), texts, labels, evidence, simplify_chinese
    )


def _pages(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of *path* after their places; raises CollectionError for wrong fields."""
    for number, page in _objects(path):
        where = f"{path}, line {number}"
        if not isinstance(page.get("id"), str) or not isinstance(page.get("text"), str):
            raise CollectionError(f'{where}: "id" and "text" must be strings')
        size = page.get("ntok")
        if not (size is None or (isinstance(size, int) and size >= 0)):
            raise CollectionError(f'{where}: "ntok" must be a whole number, got {size!r:.80}')
        yield where, page


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
        raise CollectionError(f"{path}, line {number}: not JSON ({error})") from error


def _labels(path: Path, numbers: Mapping[str, int], ids: set[str]) -> dict[Pair, str]:
    labels: dict[Pair, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            missing = {"id1", "id2", "label"} - set(rows.fieldnames or ())
            if missing:
                raise CollectionError(f"{path} lacks the columns {', '.join(sorted(missing))}")
            for row in rows:
                where = f"{path}, line {rows.line_num}"
                keys = _keys_of(row, ids, where)
                if keys[0] in numbers and keys[1] in numbers:
                    low, high = sorted(numbers[key] for key in keys)
                    if labels.setdefault((low, high), row["label"]) != row["label"]:
                        raise CollectionError(f"{where}: the pair already has another label")
    except OSError as error:
        raise CollectionError(f"{path} cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise CollectionError(f"{path} is not a table in UTF-8 ({error})") from error
    return labels


def _keys_of(row: Mapping[str, str], ids: set[str], where: str) -> tuple[str, str]:
    """Return the two ids of a row of pairs.tsv; raises CollectionError if the row is malformed."""
    keys = row["id1"], row["id2"]
    if row["label"] not in LABELS:
        raise CollectionError(f"{where}: label must be one of {', '.join(LABELS)}")
    for key in keys:
        if key not in ids:
            raise CollectionError(f"{where}: there is no page {key!r}")
    if keys[0] == keys[1]:
        raise CollectionError(f"{where}: a page cannot pair with itself")
    return keys


def _size(text: str) -> int:
    return sum(len(word) if word > "\u2e80" else 1 for word in tokenise(text))


def _extract(folder: Path, html: Any, where: str, extractor: Extractor) -> Extraction:
    if not isinstance(html, str) or "\0" in html:
        raise CollectionError(f'{where}: "html" must be the name of a file')
    path = folder / html
    if not path.resolve().is_relative_to(folder.resolve()):
        raise CollectionError(f'{where}: "html" must be a file of the folder, got {html!r}')
    try:
        content = path.read_text("utf-8", "replace")
    except OSError as error:
        raise CollectionError(f"{path} cannot be read ({error.strerror})") from error
    result = extractor(content)
    return result if isinstance(result, Extraction) else Extraction(result or "")
