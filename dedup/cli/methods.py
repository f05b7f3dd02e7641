"""Methods, extractors and scopes, from the names and arguments on the command line."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from dedup.cli.errors import CommandError
from dedup.evaluation import sweep_of
from dedup.evidence import DEMANDS
from dedup.extraction import Extractor
from dedup.methods import METHODS
from dedup.methods.arguments import check_arguments
from dedup.methods.base import Method
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.plugins import load_extractor, load_method_class, load_preference
from dedup.preference import CRITERIA, Preference
from dedup.scopes import Scope

SECRET = "DEDUP_SECRET"


def add_method(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--method", default="simhash", metavar="NAME",
        help="the name of a method, or an import path (default: simhash)")  # fmt: skip
    _add_arguments(parser)


def add_methods(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--method", nargs="+", default=["simhash"], metavar="NAME",
        help="names or import paths of methods, or all (default: simhash)")  # fmt: skip
    _add_arguments(parser)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--args", default="{}", metavar="JSON",
        help="arguments of the method, as a JSON object (as in DEDUP_METHOD)")  # fmt: skip
    add_simplify_chinese(parser)
    parser.add_argument("--min-tokens", type=int, default=20, metavar="N",
        help="texts with fewer words can only be exact duplicates; each Han character is one "
        "(default: 20)")  # fmt: skip


def add_simplify_chinese(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--simplify-chinese", action="store_true",
        help="compare Chinese in Simplified characters, so that both scripts match")  # fmt: skip


def add_extractor(parser: argparse.ArgumentParser, default: str | None = "trafilatura") -> None:
    parser.add_argument("--extractor", default=default, metavar="NAME",
        help="what extracts the main text from HTML: a name or an import path (default: "
        f"{default or 'none, the texts are taken'})")  # fmt: skip


def add_evidence(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--evidence", choices=tuple(DEMANDS), default=default,
        help="what pages of HTML must show besides matching texts, as in DEDUP_EVIDENCE (default: "
        f"{default})")  # fmt: skip


def method_of(options: argparse.Namespace) -> Method:
    """Return the method that --method and --args describe."""
    return create_method(
        method_class(options.method),
        json_object("--args", options.args),
        simplify_chinese=options.simplify_chinese,
    )


def methods_of(options: argparse.Namespace) -> list[Method]:
    """Return the methods that --method and --args describe, with --sweep many of each."""
    names = METHODS if options.method == ["all"] else options.method
    create = sweep_of if getattr(options, "sweep", False) else _only
    arguments = json_object("--args", options.args)
    kinds = dict.fromkeys(method_class(name) for name in names)  # each once
    return [
        method
        for kind in kinds
        for method in _create_methods(
            kind, arguments, create, simplify_chinese=options.simplify_chinese
        )
    ]


def method_class(name: str) -> type[Method]:
    """Return the class of a method, given its short name or import path."""
    with _option("--method"):
        return load_method_class(name)


def extractor_of(name: str) -> Extractor:
    """Return the extractor with a short *name* or import path."""
    with _option("--extractor"):
        extractor: Extractor = load_extractor(name)
        return extractor


@contextmanager
def _option(option: str) -> Iterator[None]:
    """Let import paths begin in the current folder, and name *option* in messages of errors."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        yield
    except ValueError as error:
        raise CommandError(f"{option} {error}") from error


def scope_of(name: str) -> Scope:
    """Return the scope that *name* stands for, as in DEDUP_SCOPE."""
    with _option("--scope"):
        return Scope.of(name)


def preference_of(names: str) -> Preference:
    """Return the preference that *names* stand for, separated by commas."""
    with _option("--keep"):
        preference = load_preference(CRITERIA, names)
        if not preference:
            raise ValueError(f"must name a criterion, one of {', '.join(CRITERIA)}")
        return preference


def json_object(option: str, value: str) -> dict[str, Any]:
    try:
        arguments = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise CommandError(
            f"{option} must be an object in JSON, got {value!r:.200} ({error})"
        ) from error
    if not isinstance(arguments, dict):
        raise CommandError(f"{option} must be an object in JSON, got {value!r:.200}")
    return arguments


def create_method(
    kind: type[Method], arguments: dict[str, Any], *, simplify_chinese: bool = False
) -> Method:
    """Return the method of the class *kind* with the *arguments* of ``--args``.

    The secret comes from the environment, since other users can see the arguments of a command.
    """
    [method] = _create_methods(kind, arguments, _only, simplify_chinese=simplify_chinese)
    return method


def _only(kind: type[Method], arguments: dict[str, Any]) -> list[Method]:
    return [kind(**arguments)]


def _create_methods(
    kind: type[Method],
    arguments: dict[str, Any],
    create: Callable[[type[Method], dict[str, Any]], list[Method]],
    *,
    simplify_chinese: bool,
) -> list[Method]:
    try:
        check_arguments(kind, arguments)
    except TypeError as error:
        raise CommandError(f"--args: {kind.name} {error}") from error
    try:
        methods = create(kind, arguments)
    except (TypeError, ValueError) as error:
        raise CommandError(f"--args: {kind.name}: {error}") from error
    if simplify_chinese:
        try:
            methods = [method.simplifying_chinese() for method in methods]
        except ValueError as error:
            raise CommandError(f"--simplify-chinese {error}") from error
    try:
        hashing = _hashing(os.environ.get(SECRET, ""))
        return [with_keyed_hashing(method, hashing) for method in methods] if hashing else methods
    except ValueError as error:
        raise CommandError(f"{SECRET}: {error}") from error


@cache
def _hashing(secret: str) -> KeyedHashing | None:
    """Return the hashing with *secret*; ``None`` if that is empty."""
    return KeyedHashing(secret) if secret else None
