"""The numbers, and the texts behind them, as one HTML file that needs no network."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from dedup.diff import word_diff
from dedup.files import replacing
from dedup.limits import shorten
from dedup.report.texts import TextStore
from dedup.scopes import host
from dedup.text import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_TEMPLATES = Path(__file__).parent / "templates"
# What keeps the file small, and the time to make it short, however long the crawl.
_BYTES_OF_GROUPS = 1_300_000
_BYTES_OF_DIFFS = 900_000
_SECONDS_OF_DIFFS = 4.0
_PARTS_OF_A_DIFF = 300
_LONGEST_PART = 1_000
_LONGEST_URL = 400
_ROWS = 12
_LANGUAGES = ("en", "zh")


def write_html(numbers: Mapping[str, Any], texts: TextStore, path: Path) -> None:
    """Write the report of `Summary.finish` (or its JSON, read again) to *path*.

    *texts* are those of the pages whose differences can be shown. Raises OSError.
    """
    # What is no character cannot be encoded: a URL may hold it.
    content = as_html(numbers, texts).encode("utf-8", "replace")
    with replacing(path) as file:
        file.write(content)


def as_html(numbers: Mapping[str, Any], texts: TextStore) -> str:
    """Return the report as HTML."""
    diffs = _Diffs(texts)
    near_misses = [
        {**pair, "diff": diffs.number_of(pair["url"], pair["other"])}
        for pair in numbers["near_misses"]
    ]
    groups = list(_groups(numbers["largest_groups"], texts, diffs))
    messages = _messages()
    data = {
        "groups": groups,
        "diffs": diffs.shown,
        "messages": {name: text for name, text in messages.items() if name.startswith("js_")},
    }
    script = (_TEMPLATES / "report.js").read_text("utf-8")
    advice = numbers["url_advice"]
    return (
        _environment()
        .get_template("report.html")
        .render(
            numbers=numbers,
            title=f"{numbers.get('spider', '')} {numbers['started'][:10]}",
            shares=_shares(numbers["pages"]),
            charts=_charts(numbers),
            tables=[
                (name, column, _rows(numbers, name), numbers[name]["names"])
                for name, column in (("hosts", "host"), ("url_patterns", "url_pattern"))
            ],
            stages=_stages(numbers["seconds_per_page"]),
            groups=len(groups),
            near_misses=near_misses,
            advised=[item for item in advice["advice"] if item["is_advised"]],
            considered=[item for item in advice["advice"] if not item["is_advised"]],
            rules=[item["discarder"] for item in advice["advice"] if item["discarder"]],
            deny=[item["deny"] for item in advice["advice"] if item["deny"]],
            texts_lost=max(numbers["texts_lost"], texts.lost),
            data=data,
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            style=(_TEMPLATES / "report.css").read_text("utf-8"),
        )
    )


class _Diffs:
    """The word diffs that are shown, in bounded space and time."""

    def __init__(self, texts: TextStore) -> None:
        self._texts = texts
        self._bytes = 0
        self._deadline = monotonic() + _SECONDS_OF_DIFFS
        self.shown: list[list[str]] = []

    def number_of(self, one: str, other: str) -> int | None:
        """Return the number of the diff of two pages, ``None`` if it is not shown."""
        if self._bytes > _BYTES_OF_DIFFS or monotonic() > self._deadline:
            return None
        first, second = self._texts.get(one), self._texts.get(other)
        if first is None or second is None:
            return None
        parts: list[str] = []
        for kind, words in word_diff(first, second):
            if len(parts) == _PARTS_OF_A_DIFF:
                parts.append("…")
                break
            parts.append(_SIGNS[kind] + shorten(words, _LONGEST_PART))
        self._bytes += _size(parts)
        self.shown.append(parts)
        return len(self.shown) - 1


_SIGNS = {"equal": "=", "removed": "-", "added": "+"}


def _groups(
    groups: list[Mapping[str, Any]], texts: TextStore, diffs: _Diffs
) -> Iterator[dict[str, Any]]:
    """Yield the groups in the form that the script reads, as many as there is room for."""
    size = 0
    for group in groups:
        original = group["original"]
        copies = [
            [_url(copy["url"]), None, None]
            if copy["verdict"] == "exact-duplicate"
            else [_url(copy["url"]), copy["distance"], diffs.number_of(original, copy["url"])]
            for copy in group["first"]
        ]
        row = {
            "url": _url(original),
            "title": printable(texts.title(original) or "", 200),
            "host": _url(host(original)),
            "count": group["duplicates"],
            "copies": copies,
        }
        size += _size(row)
        if size > _BYTES_OF_GROUPS:
            return
        yield row


def _size(value: Any) -> int:
    """Return the bytes that *value* takes in the page, where some characters are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return len(text.encode("utf-8", "replace")) + 5 * sum(map(text.count, "<>&'"))


def _url(url: str) -> str:
    return printable(url, _LONGEST_URL)


def _shares(pages: Mapping[str, Any]) -> list[dict[str, Any]]:
    counts = {
        "new": pages["new"],
        "changed": pages["changed"],
        "unchanged": pages["unchanged"],
        "exact": pages["exact_duplicates"],
        "near": pages["near_duplicates"],
        "repeated": pages.get("repeated", 0),
        "skipped": sum(pages["skipped"].values()),
    }
    for seldom in _SELDOM:
        if not counts[seldom]:
            del counts[seldom]
    total = max(1, sum(counts.values()))
    return [
        {"name": name, "count": count, "percent": 100 * count / total}
        for name, count in counts.items()
    ]


def _rows(numbers: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    names = numbers[name]["largest"][:_ROWS]
    most = max((row["pages"] for row in names), default=1)
    hosts = numbers["hosts"]
    # Where there is one host only, its name tells nothing.
    only = hosts["largest"][0]["name"] if name == "url_patterns" and hosts["names"] == 1 else ""
    return [
        {
            **row,
            "name": _url(row["name"].removeprefix(only)),
            "width": 100 * row["pages"] / most,
            "percent": 100 * row["duplicates"] / row["pages"],
        }
        for row in names
    ]


def _stages(seconds: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    # Waiting is no work: many pages do so at once.
    work = (stage["sum"] or 0 for name, stage in seconds.items() if name != "waiting")
    most = max(work, default=0) or 1
    return [
        {"name": name, "width": min(100, 100 * (stage["sum"] or 0) / most), **stage}
        for name, stage in seconds.items()
    ]


def _charts(numbers: Mapping[str, Any]) -> dict[str, Any]:
    from dedup.report.charts import binned, stacked_bars

    dropped = {float(key): count for key, count in numbers["distances"].items()}
    nearest = numbers["nearest_kept"]
    kept = {float(key): count for key, count in nearest["distances"].items()}
    # What was not looked at is like what was: then the bars are of all kept pages, too.
    scale = nearest["pages"] / max(1, nearest["sample"])
    scaled = {key: round(scale * count) for key, count in kept.items()}
    labels, (near, beyond) = binned(dropped, scaled, upto=nearest["within"] if kept else 0)
    timeline, lengths = numbers["timeline"], numbers["lengths"]
    width = timeline["pages_per_bucket"]
    buckets = timeline["buckets"]
    charts: dict[str, Any] = {"is_sample": scale > 1, "timeline_legend": [], "lengths_legend": []}
    if any(near) or any(beyond):
        bars = [("dropped", near), ("kept", beyond)]
        charts["distances"] = _chart(stacked_bars, "distances", labels, bars)
    if buckets:
        labels = [_short(width * place) for place in range(len(buckets))]
        places = {_CLASSES[kind]: place for place, kind in enumerate(timeline["kinds"])}
        bars = [
            (name, [bucket[places[name]] for bucket in buckets])
            for name in _IN_TIMELINE
            if name in places
        ]
        bars = [(name, counts) for name, counts in bars if any(counts) or name not in _SELDOM]
        charts["timeline"] = _chart(stacked_bars, "timeline", labels, bars)
        charts["timeline_legend"] = [(name, name) for name, _ in bars]
    if lengths:
        labels = [_short(bucket["from"]) for bucket in lengths]
        legend = {"kept": "legend_new", "duplicates": "legend_duplicates"}
        kinds = [kind for kind in legend if kind in lengths[0]]
        bars = [(kind, [bucket[kind] for bucket in lengths]) for kind in kinds]
        charts["lengths_legend"] = [(kind, legend[kind]) for kind in kinds]
        charts["lengths"] = _chart(stacked_bars, "lengths", labels, bars)
    return charts


_CLASSES = {
    "new": "new",
    "changed": "changed",
    "unchanged": "unchanged",
    "exact-duplicate": "exact",
    "near-duplicate": "near",
    "repeated": "repeated",
    "skipped": "skipped",
}
# Not shown where there are none, as without a ledger.
_SELDOM = ("changed", "unchanged", "repeated")
_IN_TIMELINE = ("new", "changed", "exact", "near", "unchanged", "repeated", "skipped")


def _chart(draw: Any, name: str, labels: list[str], bars: list[tuple[str, Any]]) -> dict[str, Any]:
    rows = zip(labels, *(values for _, values in bars), strict=True)
    return {
        "svg": draw(labels, bars, title_id=f"{name}-title"),
        "rows": [row for row in rows if any(row[1:])],
    }


@cache
def _messages() -> dict[str, list[str]]:
    return json.loads((_TEMPLATES / "messages.json").read_text("utf-8"))  # type: ignore[no-any-return]


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "default": str,
    }
    environment.globals["t"] = _translated
    environment.filters |= {
        "number": lambda value: f"{value:,}",
        "percent": lambda value: f"{value:.1f} %",
        "bytes": _bytes,
        "seconds": _seconds,
        "distance": lambda value: f"{value:.3g}",
        "shown": lambda value: printable(str(value), _LONGEST_URL),
        "messages": lambda name: _messages()[name],
        "pretty": lambda rules: json.dumps(rules, indent=1),
    }
    return environment


def _translated(name: str, *values: Any) -> "Markup":
    """Return a text of the interface in all languages; the style shows the one that is chosen.

    *values* take the places of {0}, {1} and so on.
    """
    from markupsafe import Markup, escape

    if name not in _messages():  # a stage, scope or reason of somebody else's
        return escape(printable(name.partition("_")[2].replace("_", " ")))
    values = tuple(f"{value:,}" if isinstance(value, int) else value for value in values)
    return Markup("").join(
        Markup('<span class="t" lang="{}">{}</span>').format(language, Markup(text).format(*values))
        for language, text in zip(_LANGUAGES, _messages()[name], strict=True)
    )


def _short(number: int) -> str:
    """Return a number for an axis: two digits are enough there."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.2g}k" if number < 99_500 else f"{number / 1e6:.2g}M"


def _bytes(count: float) -> str:
    units = ["B", "kB", "MB", "GB", "TB"]
    while count >= 1000 and len(units) > 1:
        count /= 1000
        units.pop(0)
    return (
        f"{count:.0f} {units[0]}" if units[0] == "B" or count >= 100 else f"{count:.1f} {units[0]}"
    )


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
