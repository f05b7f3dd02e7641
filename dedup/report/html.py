"""The report, and the texts behind it, as one HTML file that needs no network."""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dedup.atomic_file import replacing
from dedup.report import templating
from dedup.report.diffs import Diffs, size_in_html
from dedup.report.report import Group, Report
from dedup.report.templating import cut_url
from dedup.report.texts import TextStore
from dedup.scopes import host
from dedup.text import printable

# The script reads the groups; the file stays small however long the crawl.
_BYTES_OF_GROUPS = 1_300_000


def write_html(report: Report, texts: TextStore, path: Path, *, crawls: int | None = None) -> None:
    """Write *report* to *path*.

    *texts* are those of the pages whose differences can be shown; *crawls*: how many the report is
    of, if it is of a ledger. Raises OSError.
    """
    # Surrogates cannot be encoded: a URL may hold one.
    content = as_html(report, texts, crawls=crawls).encode("utf-8", "replace")
    with replacing(path) as file:
        file.write(content)


def as_html(report: Report, texts: TextStore, *, crawls: int | None = None) -> str:
    """Return *report* as HTML; see `write_html`."""
    from dedup.report import figures  # with lxml, which commands that write none do without

    diffs = Diffs(texts)
    lossiest = [
        (page, diffs.add(page.original, page.url))
        for page in (report.dropped_text.lossiest if report.dropped_text else ())
    ]
    near_misses = [(pair, diffs.add(pair.url, pair.other)) for pair in report.near_misses]
    groups = list(_group_rows(report.largest_groups, texts, diffs))
    advice = report.url_advice.advice if report.url_advice else ()
    # Where there is one host only, its name tells nothing.
    only_host = report.hosts.largest[0].name if report.hosts.names == 1 else ""
    script = templating.read_template("report.js")
    messages = templating.messages().items()
    return templating.render(
        "report.html",
        {
            "report": report,
            "crawls": crawls,
            "title": f"{report.spider} {report.started[:10]}",
            "shares": figures.share_of_each_kind(report.pages),
            "charts": figures.draw_charts(report),
            "is_sample": figures.is_sample(report),
            "tables": [
                (
                    "hosts",
                    "host",
                    [] if only_host else figures.bars_of_names(report.hosts),
                    report.hosts.names,
                ),
                (
                    "url_patterns",
                    "url_pattern",
                    figures.bars_of_names(report.url_patterns, only_host),
                    report.url_patterns.names,
                ),
            ],
            "stages": list(figures.bars_of_stages(report.seconds_per_page)),
            "groups": len(groups),
            "lossiest": lossiest,
            "near_misses": near_misses,
            "advised": [item for item in advice if item.is_advised],
            "considered": [item for item in advice if not item.is_advised],
            "rules": [item.discarder for item in advice if item.discarder],
            "deny": [item.deny for item in advice if item.deny],
            "texts_lost": max(report.texts_lost, texts.lost),
            "data": {
                "groups": groups,
                "diffs": diffs.parts,
                "messages": {name: text for name, text in messages if name.startswith("js_")},
            },
            "script": script,
            "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            "style": templating.read_template("report.css"),
        },
    )


def _group_rows(
    groups: tuple[Group, ...], texts: TextStore, diffs: Diffs
) -> Iterator[dict[str, Any]]:
    """Yield the groups in the form that the script reads, as many as there is room for."""
    size = 0
    for group in groups:
        original = group.original
        row = {
            "url": cut_url(original),
            "title": printable(texts.title(original) or "", 200),
            "host": cut_url(host(original)),
            "count": group.duplicates,
            "copies": [
                [cut_url(copy.url), None, None]
                if copy.verdict == "exact-duplicate"
                else [cut_url(copy.url), copy.distance, diffs.add(original, copy.url)]
                for copy in group.first
            ],
        }
        size += size_in_html(row)
        if size > _BYTES_OF_GROUPS:
            return
        yield row
