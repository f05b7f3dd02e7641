"""The ``dedup`` command."""

import argparse
import json
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, BinaryIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from dedup import __version__
from dedup.files import replacing
from dedup.text import printable

# Chinese has no spaces: each character is shown as a word.
_WORDS_OF_A_DIFF = re.compile(r"[\u2e80-\u9fff\uac00-\ud7ff]|[^\s\u2e80-\u9fff\uac00-\ud7ff]+")

_EXAMPLES = {
    "evaluate": """\
examples:
  dedup evaluate labelled/news                        the default method
  dedup evaluate labelled/* --method all              a table of all methods
  dedup evaluate labelled/news --method simhash minhash --sweep --plot curves.png
  dedup evaluate labelled/news --method simhash --args '{"max_distance": 7}' --errors 5
""",
    "lexicon": """\
examples:
  dedup lexicon pages.jsonl -o pages.lexicon          the field "text" of each line (.jsonl, .jl)
  dedup lexicon texts/*.txt -o texts.lexicon          a document each

then, in settings.py:
  DEDUP_METHOD = "i-match"
  DEDUP_METHOD_ARGS = {"lexicon": "pages.lexicon"}
""",
}


class CommandError(Exception):
    """Ends the command with one line and exit code 2."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, 2 for wrong input, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    if sys.stdout is None:  # closed by who called
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # for the length of the process
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # as in: dedup evaluate ... | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (CommandError, ValueError, OSError) as error:
        print(f"dedup {options.command}: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dedup", description="Near-duplicates of web pages.")
    parser.add_argument("--version", action="version", version=f"scrapy-dedup {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    evaluate = _command(commands, "evaluate", _evaluate, "score methods on labelled collections")
    evaluate.add_argument("collections", nargs="+", type=Path, metavar="COLLECTION",
        help="a folder with docs.jsonl (id, text) and pairs.tsv (id1, id2, label)")  # fmt: skip
    evaluate.add_argument("--method", nargs="+", default=["simhash"], metavar="NAME",
        help="names of methods, or all (default: simhash)")  # fmt: skip
    evaluate.add_argument("--args", default="{}", metavar="JSON",
        help="arguments of the method, an object in JSON as in DEDUP_METHOD_ARGS")  # fmt: skip
    evaluate.add_argument("--min-tokens", type=int, default=30, metavar="N",
        help="leave out shorter pages (default: 30)")  # fmt: skip
    evaluate.add_argument("--extractor", metavar="NAME",
        help="take the main text of the pages' HTML with this, as trafilatura")  # fmt: skip
    evaluate.add_argument("--sweep", action="store_true",
        help="try other thresholds of the methods as well")  # fmt: skip
    evaluate.add_argument("--errors", type=int, default=0, metavar="N",
        help="show N false and N missed pairs of each, with a diff")  # fmt: skip
    evaluate.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    evaluate.add_argument("--plot", type=Path, metavar="FILE",
        help="draw precision against recall into FILE (png, svg, pdf)")  # fmt: skip
    _overwritable(evaluate)

    lexicon = _command(commands, "lexicon", _lexicon, "count in how many documents each word is")
    lexicon.add_argument("inputs", nargs="+", type=Path, metavar="INPUT",
        help="a JSONL file, a line a document, or a file of text, a document each")  # fmt: skip
    lexicon.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    lexicon.add_argument("--field", default="text", help="the field of JSONL (default: text)")
    lexicon.add_argument("--at-least", type=int, default=2, metavar="N",
        help="leave out words of fewer documents; they count as rare (default: 2)")  # fmt: skip
    _overwritable(lexicon)
    return parser


def _command(commands: Any, name: str, run: Any, summary: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=_EXAMPLES[name],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _overwritable(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")


def _evaluate(options: argparse.Namespace) -> None:
    from importlib.util import find_spec

    from dedup.evaluation import evaluate, read_collection
    from dedup.extraction import EXTRACTORS
    from dedup.methods import METHODS

    names = list(METHODS) if options.method == ["all"] else options.method
    kinds = [_method_class(name) for name in names]
    if options.extractor is not None and options.extractor not in EXTRACTORS:
        choices = ", ".join(EXTRACTORS)
        raise CommandError(f"--extractor must be one of {choices}, got {options.extractor!r}")
    if options.extractor and not find_spec(options.extractor):
        needed = f"pip install 'scrapy-dedup[{options.extractor}]'"
        raise CommandError(f"--extractor {options.extractor} needs: {needed}")
    arguments = _object("--args", options.args)
    methods = [
        method for kind in kinds for method in _created(kind, kind.name, arguments, options.sweep)
    ]
    if options.errors < 0:
        raise CommandError(f"--errors must be 0 or more, got {options.errors}")
    _check_outputs(options, options.json, options.plot)
    if options.plot:
        _check_plot(options.plot)
    extractor = EXTRACTORS[options.extractor] if options.extractor else None
    collections = [
        read_collection(folder, min_tokens=options.min_tokens, extractor=extractor)
        for folder in options.collections
    ]
    if len({collection.name for collection in collections}) < len(collections):
        collections = [
            replace(collection, name=str(folder))
            for collection, folder in zip(collections, options.collections, strict=True)
        ]
    results = []
    with _progress(sum(map(len, collections)) * len(methods)) as advance:
        for collection in collections:
            for method in methods:
                results.append((collection, evaluate(collection, method, advance)))
    # Files first: who reads the output may stop at any time.
    if options.json:
        objects = [result.as_json() for _, result in results]
        with replacing(options.json) as file:
            file.write(f"{json.dumps(objects, indent=1)}\n".encode())
    if options.plot:
        with replacing(options.plot) as file:
            _plot([result for _, result in results], file, options.plot.suffix.lstrip("."))
    _show_results([result for _, result in results], options.sweep)
    for collection, result in results if options.errors else ():
        _show_errors(collection, result, options.errors)


def _method_class(name: str) -> Any:
    """Return the method of a short name or of an import path."""
    from importlib import import_module

    from dedup.methods import METHODS, Method

    if name in METHODS:
        return METHODS[name]
    module, _, attribute = name.rpartition(".")
    if not module:
        choices = ", ".join(METHODS)
        raise CommandError(f"--method must be all, an import path or of {choices}, got {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        kind = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CommandError(f"--method {name}: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Method)):
        raise CommandError(f"--method {name} must be a subclass of dedup.methods.Method")
    return kind


def _object(option: str, value: str) -> dict[str, Any]:
    try:
        arguments = json.loads(value)
    except ValueError as error:
        raise CommandError(
            f"{option} must be an object in JSON, got {value!r} ({error})"
        ) from error
    if not isinstance(arguments, dict):
        raise CommandError(f"{option} must be an object in JSON, got {value!r}")
    return arguments


def _created(kind: Any, name: str, arguments: dict[str, Any], with_sweep: bool) -> list[Any]:
    from dedup.evaluation import sweep_of
    from dedup.methods.base import check_arguments

    try:
        check_arguments(kind, arguments)
    except TypeError as error:
        raise CommandError(f"--args: {name} {error}") from error
    try:
        return sweep_of(kind, arguments) if with_sweep else [kind(**arguments)]
    except (TypeError, ValueError) as error:
        raise CommandError(f"--args: {name}: {error}") from error


def _check_outputs(options: argparse.Namespace, *paths: Path | None) -> None:
    given = [path for path in paths if path is not None]
    for path in given:
        folder = path.resolve().parent
        if path.is_dir() or not folder.is_dir():
            raise CommandError(f"{path} must be a file in a folder that exists")
        if path.exists() and not path.is_file():
            raise CommandError(f"{path} is no regular file")
        if (path.exists() or path.is_symlink()) and not options.overwrite:
            raise CommandError(f"{path} exists; --overwrite replaces it")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CommandError(f"{path} cannot be written: its folder is read-only")
    if len({path.resolve() for path in given}) < len(given):
        raise CommandError(f"{given[0]} is named for two outputs")


def _check_plot(path: Path) -> None:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise CommandError("--plot needs: pip install 'scrapy-dedup[plot]'") from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    known = plt.figure().canvas.get_supported_filetypes()
    plt.close()
    if path.suffix.lstrip(".").lower() not in known:
        raise CommandError(f"--plot must end in one of {', '.join(sorted(known))}, got {path}")


@contextmanager
def _progress(total: int | None) -> Iterator[Any]:
    """Show a bar on stderr, if that is a terminal; yield the function that moves it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("pages", total=total)
        yield lambda: progress.advance(task)


def _show_results(results: Sequence[Any], with_parameter: bool) -> None:
    from dedup.methods import METHODS

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("collection")
    table.add_column("method", no_wrap=True)
    if with_parameter:
        table.add_column("threshold", justify="right")
    for title in (
        "found / to find", "precision", "recall", "F1", "F1 edited",
        "pages/s", "CPU ms/page", "bytes/page",
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
            f"{result.pages_per_s:,.0f}",
            f"{result.cpu_ms_per_page:.2f}",
            f"{result.bytes_per_page:,.0f}",
        )
    _console().print(table)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # instead of exit code 1


def _console() -> Console:
    # A file or a pipe has no width, so nothing is to be cut off for it.
    return _Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def _show_errors(collection: Any, result: Any, count: int) -> None:
    console = _console()
    for kind, pairs in (("false", result.false_pairs), ("missed", result.missed_pairs)):
        for one, other in pairs[:count]:
            title = f"{kind} pair of {result.method} in {collection.name}: "
            console.print()
            keys = f"{collection.keys[one]} | {collection.keys[other]}"
            console.print(Text(printable(f"{title}{keys}"), style="bold"))
            console.print(diff(collection.texts[one], collection.texts[other]))


def diff(one: str, other: str, *, context: int = 8) -> Text:
    """Return the words of two texts: what only the first has in red, only the second in green.

    Of what both have, and of long insertions, *context* words are shown at each end. Only the first
    4,000 words are compared, since that takes time by their square.
    """
    words, others = (_WORDS_OF_A_DIFF.findall(printable(text))[:4000] for text in (one, other))
    text = Text()
    for tag, start, end, begin, stop in SequenceMatcher(
        None, words, others, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            text.append(_clipped(words[start:end], context) + " ")
            continue
        if end > start:
            text.append(f"[-{_clipped(words[start:end], 3 * context)}-]", style="red")
        if stop > begin:
            text.append(f"{{+{_clipped(others[begin:stop], 3 * context)}+}}", style="green")
        text.append(" ")
    return text


def _clipped(words: list[str], context: int) -> str:
    left = len(words) - 2 * context
    if left > 3:
        words = [*words[:context], f"... {left} words ...", *words[-context:]]
    return " ".join(words)


def _plot(results: Sequence[Any], file: BinaryIO, kind: str) -> None:
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
            if not points:
                continue
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


def _lexicon(options: argparse.Namespace) -> None:
    from dedup.lexicon import count_terms, write_lexicon
    from dedup.text import Document

    _check_outputs(options, options.output)
    if options.at_least < 1:
        raise CommandError(f"--at-least must be 1 or more, got {options.at_least}")
    for path in options.inputs:
        if not path.exists() or path.is_dir():
            raise CommandError(f"{path} is no file")
        if path.resolve() == options.output.resolve():
            raise CommandError(f"{path} is the output, too")
    skipped = 0
    with _progress(None) as advance:

        def documents() -> Iterator[Document]:
            nonlocal skipped
            for text in _texts(options.inputs, options.field):
                advance()
                if text is None:
                    skipped += 1
                else:
                    yield Document.from_main_text(text)

        number, counts = count_terms(documents())
    digest = write_lexicon(options.output, number, counts, options.at_least)
    kept = sum(count >= options.at_least for count in counts.values())
    print(f"{options.output}: {kept:,} words of {number:,} documents, digest {digest}")
    if skipped:
        print(f"{skipped:,} lines without text in the field {options.field!r} were left out")


def _texts(paths: Iterable[Path], field: str) -> Iterator[str | None]:
    for path in paths:
        try:
            with path.open(encoding="utf-8-sig") as file:
                if path.suffix.lower() not in (".jsonl", ".jl"):
                    yield file.read()
                    continue
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield _field(line, field, f"{path}, line {number}")
        except OSError as error:
            raise CommandError(f"{path} cannot be read ({error.strerror})") from error
        except UnicodeDecodeError as error:
            raise CommandError(f"{path} is not UTF-8 ({error})") from error


def _field(line: str, field: str, where: str) -> str | None:
    """Return a field of a line of JSON; ``None`` if it is empty, as of pages that are no HTML."""
    try:
        value = json.loads(line).get(field)
    except (ValueError, AttributeError, RecursionError) as error:
        raise CommandError(f"{where}: no JSON object") from error
    if not (value is None or isinstance(value, str)):
        raise CommandError(f"{where}: the field {field!r} must be a string")
    return value or None
