"""``dedup evaluate``: score methods on labelled collections."""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dedup.atomic_file import replacing
from dedup.cli.diff import diff
from dedup.cli.errors import CommandError
from dedup.cli.files import add_json, check_numbers, check_outputs, write_json
from dedup.cli.methods import (
    add_evidence,
    add_extractor,
    add_methods,
    extractor_of,
    methods_of,
)
from dedup.cli.terminal import console, progress
from dedup.evaluation import Collection, Evaluation, evaluate, read_collection
from dedup.evidence import DEMANDS
from dedup.methods import METHODS
from dedup.text import printable

EXAMPLES = """\
examples:
  dedup evaluate labelled/news                        score the default method
  dedup evaluate labelled/* --method all              compare all methods in a table
  dedup evaluate labelled/news --method simhash minhash --sweep --plot curves.png
  dedup evaluate labelled/news --method simhash --args '{"max_distance": 7}' --errors 5
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("collections", nargs="+", type=Path, metavar="COLLECTION",
        help="a folder with docs.jsonl (id, text) and pairs.tsv (id1, id2, label)")  # fmt: skip
    add_methods(parser)
    add_extractor(parser, default=None)
    add_evidence(parser, default="off")
    parser.add_argument("--sweep", action="store_true",
        help="also try other thresholds of the methods")  # fmt: skip
    parser.add_argument("--errors", type=int, default=0, metavar="N",
        help="show N false and N missed pairs of each method, with a diff")  # fmt: skip
    parser.add_argument("--plot", type=Path, metavar="FILE",
        help="draw precision against recall into FILE (png, svg, pdf)")  # fmt: skip
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    methods = methods_of(options)
    check_numbers(options, errors=0, min_tokens=0)
    check_outputs(options, options.json, options.plot)
    if options.plot:
        _check_plot(options.plot)
    collections = _read_collections(options)
    demands = DEMANDS[options.evidence]
    with progress(sum(map(len, collections)) * len(methods)) as advance:
        results = [
            evaluate(collection, method, advance, demands=demands)
            for collection in collections
            for method in methods
        ]
    # Files first: whoever reads the output may stop at any time.
    write_json(options.json, [result.as_json() for result in results])
    if options.plot:
        with replacing(options.plot) as file:
            _plot(results, file, options.plot.suffix.lstrip("."))
    output = console(options.json)
    _show_results(output, results, options.sweep)
    by_name = {collection.name: collection for collection in collections}
    for result in results:
        _show_errors(output, by_name[result.collection], result, options.errors)


def _read_collections(options: argparse.Namespace) -> list[Collection]:
    """Return the collections, named after their folders: with the whole path if two are alike."""
    extractor = None if options.extractor is None else extractor_of(options.extractor)
    collections = [
        read_collection(
            folder,
            min_tokens=options.min_tokens,
            extractor=extractor,
            simplify_chinese=options.simplify_chinese,
        )
        for folder in options.collections
    ]
    names = Counter(collection.name for collection in collections)
    return [
        collection if names[collection.name] == 1 else replace(collection, name=str(folder))
        for collection, folder in zip(collections, options.collections, strict=True)
    ]


def _check_plot(path: Path) -> None:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise CommandError("--plot needs: pip install 'scrapy-dedup[plot]'") from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    formats = plt.figure().canvas.get_supported_filetypes()
    plt.close()
    if path.suffix.lstrip(".").lower() not in formats:
        raise CommandError(f"--plot must end in one of {', '.join(sorted(formats))}, got {path}")


def _show_results(output: Console, results: Sequence[Evaluation], with_parameter: bool) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("collection", overflow="fold")
    table.add_column("method", no_wrap=True)
    if with_parameter:
        table.add_column("threshold", justify="right")
    for title in (
        "found / to find", "precision", "recall", "F1", "F1 edited",
        "text lost", "pages/s", "CPU ms/page", "bytes/page",
    ):  # fmt: skip
        table.add_column(title, justify="right")
    for result in results:
        threshold = []
        if with_parameter:
            name = METHODS[result.method].sweep[0] if result.method in METHODS else "max_distance"
            threshold = [f"{result.parameters.get(name, '')}"]
        scores = (result.recall, result.f1, result.f1_edited)
        table.add_row(
            Text(printable(result.collection)),
            result.method,
            *threshold,
            f"{result.pairs_found:,} / {result.pairs_to_find:,}",
            f"{result.precision:.3f}" if result.pairs_found else "–",
            *(f"{score:.3f}" for score in scores),
            result.lost_text.percent if result.lost_text.sequences else "–",
            f"{result.pages_per_s:,.0f}",
            f"{result.cpu_ms_per_page:.2f}",
            f"{result.bytes_per_page:,.0f}",
        )
    output.print(table)


def _show_errors(output: Console, collection: Collection, result: Evaluation, count: int) -> None:
    for kind, pairs in (("false", result.false_pairs), ("missed", result.missed_pairs)):
        for one, other in pairs[:count]:
            title = f"{kind} pair of {result.method} in {collection.name}: "
            output.print()
            keys = f"{collection.keys[one]} | {collection.keys[other]}"
            output.print(Text(printable(f"{title}{keys}"), style="bold"))
            output.print(diff(collection.texts[one], collection.texts[other]))


def _plot(results: Sequence[Evaluation], file: BinaryIO, kind: str) -> None:
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(result.collection for result in results))
    methods = list(dict.fromkeys(result.method for result in results))
    figure, axes = plt.subplots(
        1, len(names), figsize=(4.5 * len(names), 4.8), sharey=True, squeeze=False
    )
    for axis, name in zip(axes[0], names, strict=True):
        for number, method in enumerate(methods):
            points = [
                (result.recall, result.precision)
                for result in results
                if (result.collection, result.method) == (name, method) and result.pairs_found
            ]
            axis.plot(
                *zip(*points, strict=True),
                marker="os^Dv<>Pp*hX"[number % 12],
                markersize=4,
                linewidth=1,
                color=f"C{number % 10}",
                linestyle="-" if number < 10 else "--",
                label=method,
            )
        axis.set_title(printable(name).replace("$", r"\$"))
        axis.set_xlabel("recall")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("precision")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    figure.set_layout_engine("constrained")
    figure.savefig(file, dpi=150, format=kind)
    plt.close(figure)
