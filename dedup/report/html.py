"""The report, and the texts behind it, as one HTML file that needs no network."""

from collections.abc import Iterable
from pathlib import Path

from dedup.atomic_file import replacing
from dedup.report import templating
from dedup.report.copies import CopyOf
from dedup.report.diffs import Diffs
from dedup.report.findings import findings
from dedup.report.group_rows import GroupRows
from dedup.report.report import Report
from dedup.report.texts import TextStore

_GROUPS_WITHOUT_SCRIPT = 30
_COPIES_WITHOUT_SCRIPT = 5


def write_html(
    report: Report,
    texts: TextStore,
    path: Path,
    *,
    copies: Iterable[CopyOf] = (),
    copies_in: str = "",
    crawls: int | None = None,
    index: str = "",
) -> None:
    """Write *report* to *path*.

    *texts* are those of the pages whose differences can be shown; *copies* all duplicates, and
    *copies_in* the name of the file that has them; *crawls*: how many the report is of, if it is of
    a ledger; *index*: the address of the page of all reports. Raises OSError.
    """
    content = as_html(report, texts, copies=copies, copies_in=copies_in, crawls=crawls, index=index)
    with replacing(path) as file:
        # Surrogates cannot be encoded: a URL may hold one.
        file.write(content.encode("utf-8", "replace"))


def as_html(
    report: Report,
    texts: TextStore,
    *,
    copies: Iterable[CopyOf] = (),
    copies_in: str = "",
    crawls: int | None = None,
    index: str = "",
) -> str:
    """Return *report* as HTML; see `write_html`."""
    from dedup.report import figures  # with lxml, which commands that write none do without

    diffs = Diffs(texts)
    lossiest = [
        (page, diffs.add(page.original, page.url))
        for page in (report.dropped_text.lossiest if report.dropped_text else ())
    ]
    near_misses = [(pair, diffs.add(pair.url, pair.other)) for pair in report.near_misses]
    groups = GroupRows(report, texts, diffs)
    groups.add_all(copies)
    rows = groups.rows
    advice = report.url_advice.advice if report.url_advice else ()
    # Where there is one host only, its name tells nothing.
    only_host = report.hosts.largest[0].name if report.hosts.names == 1 else ""
    messages = templating.messages().items()
    return templating.render(
        "report.html",
        {
            "report": report,
            "crawls": crawls,
            "index": index,
            "findings": findings(report),
            "threshold": figures.threshold_of(report),
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
            "first_groups": [
                (
                    row["url"],
                    row["title"],
                    row["count"],
                    [row["url"][: copy[0]] + copy[1] for copy in row["copies"]][
                        :_COPIES_WITHOUT_SCRIPT
                    ],
                )
                for row in rows[:_GROUPS_WITHOUT_SCRIPT]
            ],
            "left_out": (groups.copies_left_out, groups.groups_left_out),
            "copies_in": copies_in,
            "lossiest": lossiest,
            "near_misses": near_misses,
            "advised": [item for item in advice if item.is_advised],
            "considered": [item for item in advice if not item.is_advised],
            "rules": [item.discarder for item in advice if item.discarder],
            "deny": [item.deny for item in advice if item.deny],
            "texts_lost": max(report.texts_lost, texts.lost),
            "data": {
                "groups": rows,
                "patterns": groups.patterns,
                "diffs": diffs.parts,
                "messages": {name: text for name, text in messages if name.startswith("js_")},
            },
        },
    )
