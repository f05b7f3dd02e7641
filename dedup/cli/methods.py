"""Methods and extractors, from the names and arguments on the command line."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from dedup.cli.errors import CommandError
from dedup.evaluation import sweep_of
from dedup.extraction import Extractor
from dedup.methods.arguments import check_arguments
from dedup.methods.base import Method
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.plugins import load_extractor, load_method_class

SECRET = "DEDUP_SECRET"


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


def create_method(kind: type[Method], arguments: dict[str, Any]) -> Method:
    """Return the method of the class *kind* with the *arguments* of ``--args``.

    The secret comes from the environment, since other users can see the arguments of a command.
    """
    [method] = _create_methods(kind, arguments, lambda kind, arguments: [kind(**arguments)])
    return method


def sweep_methods(kind: type[Method], arguments: dict[str, Any]) -> list[Method]:
    """Return the methods of the class *kind* with each value of its sweep."""
    return _create_methods(kind, arguments, sweep_of)


def _create_methods(
    kind: type[Method],
    arguments: dict[str, Any],
    create: Callable[[type[Method], dict[str, Any]], list[Method]],
) -> list[Method]:
    try:
        check_arguments(kind, arguments)
    except TypeError as error:
        raise CommandError(f"--args: {kind.name} {error}") from error
    try:
        methods = create(kind, arguments)
    except (TypeError, ValueError) as error:
        raise CommandError(f"--args: {kind.name}: {error}") from error
    try:
        hashing = _hashing(os.environ.get(SECRET, ""))
        return [with_keyed_hashing(method, hashing) for method in methods] if hashing else methods
    except ValueError as error:
        raise CommandError(f"{SECRET}: {error}") from error


@cache
def _hashing(secret: str) -> KeyedHashing | None:
    """Return the hashing with *secret*; ``None`` if that is empty."""
    return KeyedHashing(secret) if secret else None
