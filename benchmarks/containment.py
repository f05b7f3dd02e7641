"""Cut, extend and edit labelled texts, and see which methods find the parts, by their size.

    python benchmarks/containment.py COLLECTION... [--method containment verified segments]

COLLECTION is a folder with docs.jsonl. Of its texts, each long enough is stored whole, followed by
as much of another text as makes it so many times as long as the part. Then the part is looked for:
as it is, with 2 % of its words replaced, and with a fifth of it replaced by a piece of a third
text. The last must not be found: it says something that is stored nowhere. A match is right if at
least 90 % of the part's words were left as they are and the match contains it; any other is false.

Of pairs.tsv, it also counts how many pairs of each label either page of which would be dropped.
"""

import argparse
import csv
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dedup.methods import METHODS
from dedup.search import index_for, order_to_compare
from dedup.text import Document

SIZES = (25, 50, 100, 200, 400)
TIMES = (1.5, 3, 6, 12)
MOST_TEXTS = 400


class Case(NamedTuple):
    """A part, and which stored text has it; ``None`` if none has."""

    text: str
    stored: int | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collections", type=Path, nargs="+")
    parser.add_argument("--method", nargs="+", default=["containment", "verified", "segments"])
    parser.add_argument("--args", type=json.loads, default={}, help="of the first method")
    arguments = parser.parse_args()
    for folder in arguments.collections:
        texts, labels = read(folder)
        for name in arguments.method:
            extra = arguments.args if name == arguments.method[0] else {}
            show_labels(folder.name, name, extra, texts, labels)
            for size in SIZES:
                for times in TIMES:
                    show(folder.name, name, extra, list(texts.values()), size, times)


def read(folder: Path) -> tuple[dict[str, str], dict[frozenset[str], str]]:
    with (folder / "docs.jsonl").open(encoding="utf-8") as lines:
        pages = [json.loads(line) for line in lines]
    texts = {page["id"]: page["text"] for page in pages if page.get("kind", "page") == "page"}
    pairs = folder / "pairs.tsv"
    if not pairs.exists():
        return texts, {}
    with pairs.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return texts, {frozenset((row["id1"], row["id2"])): row["label"] for row in rows}


def show_labels(
    collection: str,
    name: str,
    extra: dict[str, object],
    texts: dict[str, str],
    labels: dict[frozenset[str], str],
) -> None:
    method = METHODS[name](**extra)
    documents = [Document.from_main_text(text) for text in texts.values()]
    keys = list(texts)
    index, found = index_for(method), Counter[str]()
    for number in order_to_compare(method, documents):
        sketch = method.sketch(documents[number])
        if sketch is not None and documents[number].token_count >= 20:
            for match in index.query_all(sketch):
                pair = frozenset((keys[match.page], keys[number]))
                found[labels.get(pair, "none")] += 1
            index.add(sketch, number)
    total = Counter(labels.values())
    shown = ", ".join(f"{label} {found[label]} of {total[label] or '–'}" for label in sorted(found))
    print(f"{collection:14} {name:12} pairs found: {shown}", flush=True)


def show(
    collection: str,
    name: str,
    extra: dict[str, object],
    texts: Sequence[str],
    size: int,
    times: float,
) -> None:
    method = METHODS[name](**extra)
    stored, cases = cut_and_extend(texts, size, times)
    if len(stored) < 20:
        return
    index = index_for(method)
    for number, text in enumerate(stored):
        if (sketch := method.sketch(Document.from_main_text(text))) is not None:
            index.add(sketch, number)
    counts: Counter[str] = Counter()
    for kind, case in cases:
        sketch = method.sketch(Document.from_main_text(case.text))
        found = [] if sketch is None else [match.page for match in index.query_all(sketch)]
        counts[kind] += 1
        counts[f"{kind} found"] += case.stored in found
        counts["false"] += len([page for page in found if page != case.stored])
    right = counts["whole found"] + counts["edited found"]
    precision = right / max(1, right + counts["false"])
    recall = right / (counts["whole"] + counts["edited"])
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    whole = counts["whole found"] / counts["whole"]
    edited = counts["edited found"] / counts["edited"]
    print(
        f"{collection:14} {name:12} {size:4} tokens in {times:4} times: {len(stored):4} texts  "
        f"precision {precision:.3f} recall {recall:.3f} F1 {f1:.3f}  "
        f"(whole {whole:.3f}, edited {edited:.3f}, false {counts['false']})",
        flush=True,
    )


def cut_and_extend(
    texts: Sequence[str], size: int, times: float
) -> tuple[list[str], list[tuple[str, Case]]]:
    chooser = random.Random(f"{size} {times}")
    words = [words_of(text) for text in dict.fromkeys(texts)]
    long = [own for own in words if len(own) >= size + 5]
    chooser.shuffle(long)
    stored: list[str] = []
    cases: list[tuple[str, Case]] = []
    # Three groups: what stands in one is not found in what another fills up.
    sources, fillers, others = (long[first::3] for first in range(3))
    for number, own in enumerate(sources[:MOST_TEXTS]):
        start = chooser.randrange(len(own) - size)
        part = own[start : start + size]
        length = round(size * times)
        around = own[max(0, start - length + size) : start + length]
        around = around[:length] if start < length - size else around[-length:]
        before = list(filler(fillers, number, length - len(around)))
        stored.append("".join(before + (around if is_in(part, around) else part)))
        cases.append(("whole", Case("".join(part), number)))
        cases.append(("edited", Case("".join(replaced(part, 0.02, others, chooser)), number)))
        other = others[number % len(others)]
        place = chooser.randrange(size - size // 5)
        new = part[:place] + other[: size // 5] + part[place + size // 5 :]
        cases.append(("changed", Case("".join(new), None)))
    return stored, cases


def words_of(text: str) -> list[str]:
    """Return the words of *text* with the blanks after them; characters of Chinese by twos."""
    if sum(character > "\u2e80" for character in text) > len(text) / 3:
        return [text[at : at + 2] for at in range(0, len(text), 2)]
    return [f"{word} " for word in text.split()]


def filler(texts: Sequence[list[str]], number: int, length: int) -> Iterator[str]:
    at = number
    while length > 0:
        at += 1
        piece = texts[at % len(texts)][:length]
        length -= len(piece)
        yield from piece


def is_in(part: list[str], words: list[str]) -> bool:
    return "".join(part) in "".join(words)


def replaced(
    part: list[str], share: float, texts: Sequence[list[str]], chooser: random.Random
) -> list[str]:
    part = list(part)
    for place in chooser.sample(range(len(part)), max(1, round(share * len(part)))):
        part[place] = chooser.choice(chooser.choice(texts))
    return part


if __name__ == "__main__":
    sys.exit(main())
