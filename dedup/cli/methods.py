"""Methods, extractors and scopes, from the names and arguments on the command line."""

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from typing import Any

from dedup.cli.errors import CommandError
from dedup.evaluation import sweep_of
from dedup.extraction import EXTRACTORS, Extractor
from dedup.methods import METHODS
from dedup.methods.arguments import check_arguments
from dedup.methods.base import Method
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.scopes import Scope

SECRET = "DEDUP_SECRET"


def method_class(name: str) -> Any:
    """Return the class of a method, given its short name or import path."""
    if name in METHODS:
        return METHODS[name]
    module, _, attribute = name.rpartition(".")
    if not module:
        choices = ", ".join(METHODS)
        near = get_close_matches(name, METHODS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise CommandError(
            f"--method must be an import path or one of {choices}, got {name!r}{hint}"
        )
    sys.path.insert(0, os.getcwd())
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CommandError(f"--method {name}: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Method)):
        raise CommandError(f"--method {name} must be a subclass of dedup.methods.Method")
    return kind


def extractor_of(name: str) -> Extractor:
    """Return the extractor with a short *name*."""
    if name not in EXTRACTORS:
        choices = ", ".join(EXTRACTORS)
        raise CommandError(f"--extractor must be one of {choices}, got {name!r}")
    if not importlib.util.find_spec(name):
        raise CommandError(f"--extractor {name} needs: pip install 'scrapy-dedup[{name}]'")
    return EXTRACTORS[name]


def scope_of(name: str) -> Scope:
    """Return the scope that *name* stands for, as in DEDUP_SCOPE."""
    sys.path.insert(0, os.getcwd())
    try:
        return Scope.of(name)
    except ValueError as error:
        raise CommandError(f"--scope {error}") from error


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
