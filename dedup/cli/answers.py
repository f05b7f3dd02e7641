"""The answers to `dedup calibrate`, and the table that stores them."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

from dedup.calibration import LABELS
from dedup.cli.errors import CommandError

_COLUMNS = ("key1", "key2", "label")
# Spreadsheets cannot hold more in a cell.
_MOST_IN_CELL = 32_000

Keys = tuple[str, str]
"""The keys of two pages, in alphabetical order."""


class Answers(dict[Keys, str]):
    """The label of each answered pair, and the table that stores them, if there is one."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path
        self._columns: Sequence[str] = _COLUMNS
        if path and path.exists():
            self._load(path)

    def _load(self, path: Path) -> None:
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                rows = csv.DictReader(file, delimiter="\t")
                self._columns = rows.fieldnames or _COLUMNS
                if missing := set(_COLUMNS) - set(self._columns):
                    raise CommandError(f"{path} lacks the columns {', '.join(sorted(missing))}")
                for row in rows:
                    label = (row["label"] or "").strip().lower()
                    if label and label not in LABELS:
                        choices = ", ".join(LABELS)
                        raise CommandError(
                            f"{path}, line {rows.line_num}: label must be one of {choices}, or "
                            f"empty, got {label!r:.80}"
                        )
                    if label:
                        self[in_order(row["key1"] or "", row["key2"] or "")] = label
        except OSError as error:
            raise CommandError(f"{path} cannot be read ({error.strerror})") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise CommandError(f"{path} is not a table in UTF-8 ({error})") from error

    def check_writable(self) -> None:
        """Raise CommandError if the table is not writable, before anybody answers."""
        if self._path:
            try:
                self._path.open("a").close()
            except OSError as error:
                raise CommandError(f"{self._path} cannot be written ({error.strerror})") from error

    def add(self, one: str, other: str, label: str) -> None:
        """Store an answer, in the table first."""
        if self._path:
            is_new = not self._path.exists() or not self._path.stat().st_size
            lacks_line_end = not is_new and not self._path.read_bytes().endswith(b"\n")
            with self._path.open("a", encoding="utf-8", newline="") as file:
                file.write("\n" * lacks_line_end)
                rows = csv.DictWriter(file, self._columns, delimiter="\t", lineterminator="\n")
                if is_new:
                    rows.writeheader()
                rows.writerow({"key1": one, "key2": other, "label": label})
        self[in_order(one, other)] = label


def in_order(one: str, other: str) -> Keys:
    """Return the keys of a pair in alphabetical order."""
    return (one, other) if one <= other else (other, one)


def pairs_as_table(
    sample: Sequence[tuple[int, int]],
    keys: Sequence[str],
    texts: Sequence[str],
    answers: Mapping[Keys, str],
) -> str:
    """Return a table of pairs to fill in, with their texts and the answers so far."""
    table = StringIO(newline="")
    rows = csv.writer(table, delimiter="\t", lineterminator="\n")
    rows.writerow([*_COLUMNS, "text1", "text2"])
    for pair in sample:
        one, other = (keys[number] for number in pair)
        cells = (texts[number][:_MOST_IN_CELL] for number in pair)
        rows.writerow([one, other, answers.get(in_order(one, other), ""), *cells])
    return table.getvalue()
