"""The options that several commands have, and what they stand for."""

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from dedup.choices import naming
from dedup.evidence import DEMANDS
from dedup.extraction import Extractor
from dedup.methods import METHODS
from dedup.methods.base import Method
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.plugins import MethodChoice, load_extractor, load_preference
from dedup.preference import CRITERIA, Preference
from dedup.scopes import Scope
from dedup.stores.reader import LedgerReader

SECRET = "DEDUP_SECRET"
_hashing = cache(KeyedHashing)  # slow to make
# The colon of an import path is its own.
_DATE = re.compile(r"(?<![\w.])newest:([^,]*)")
_FIELDS = {
    "text": "the field or column with the main text (default: text)",
    "html": "the field or column with HTML, from which the main text is extracted",
    "record": "the field or column with the page's record, as DEDUP_SKETCH_FIELD names it (dedup "
    "ledger: dedup_record)",
    "key": "the field or column that names a page (default: url)",
}


def add_method(
    parser: argparse.ArgumentParser, default: str | None = "simhash", nargs: str | None = None
) -> None:
    """Add --method; with *nargs*, it takes several."""
    several = ", or all" if nargs else ""
    parser.add_argument("--method", nargs=nargs, metavar="METHOD",
        default=[default] if nargs else default,
        help=f"as in DEDUP_METHOD: a name, an import path, or JSON with \"name\" and arguments"
        f"{several}{f' (default: {default})' * bool(default)}")  # fmt: skip


def add_extractor(parser: argparse.ArgumentParser, default: str | None = "trafilatura") -> None:
    parser.add_argument("--extractor", default=default, metavar="NAME",
        help="what extracts the main text from HTML: a name or an import path (default: "
        f"{default or 'none, the texts are taken'})")  # fmt: skip


def add_evidence(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--evidence", choices=tuple(DEMANDS), default=default,
        help="what pages of HTML must show besides matching texts, as in DEDUP_EVIDENCE (default: "
        f"{default})")  # fmt: skip


def add_field(parser: argparse._ActionsContainer, what: str, default: str | None = None) -> None:
    """Add the option that names a field of records, one of `_FIELDS`."""
    parser.add_argument(f"--{what}-field", default=default, metavar="NAME", help=_FIELDS[what])


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true",
        help="print everything as JSON, in place of what is shown")  # fmt: skip


def check_numbers(options: argparse.Namespace, **least: int) -> None:
    """Raise ValueError if an option is lower than its value in *least*."""
    for name, number in least.items():
        if (value := getattr(options, name)) is not None and value < number:
            raise ValueError(f"--{name.replace('_', '-')} must be {number} or more, got {value}")


def method_of(value: str) -> Method:
    """Return the method that a *value* of --method describes."""
    methods = methods_of([value])
    if len(methods) > 1:
        raise ValueError(f"--method must name one method, got {value!r}")
    return methods[0]


def methods_of(values: Sequence[str], *, with_sweep: bool = False) -> list[Method]:
    """Return what several *values* of --method describe, or their sweeps; "all" is all of ours.

    Raises ValueError unless all see Chinese alike.
    """
    methods = []
    with _naming("--method"):
        for choice in map(MethodChoice.of, METHODS if values == ["all"] else values):
            method = choice.method()
            methods += choice.sweep() if with_sweep else [method]
        if len({method.simplifies_chinese for method in methods}) > 1:
            raise ValueError("must have one simplify_chinese for all")
    return list(map(_with_secret, methods))


def method_of_ledger(ledger: LedgerReader) -> Method | None:
    """Return the method of the crawls of *ledger*, ``None`` if it is not one of ours."""
    method = ledger.method
    if method and ledger.identity.get("simplify_chinese"):
        with _naming("the ledger's method"):
            method = method.simplifying_chinese()
    return method and _with_secret(method)


def _with_secret(method: Method) -> Method:
    """Return *method* with the secret.

    That comes from the environment, since other users can see the arguments of a command.
    """
    with _naming(f"{SECRET}:"):
        secret = os.environ.get(SECRET)
        return with_keyed_hashing(method, _hashing(secret)) if secret else method


def extractor_of(name: str) -> Extractor:
    """Return the extractor with a short *name* or import path."""
    with _naming("--extractor"):
        return load_extractor(name)  # type: ignore[no-any-return]


def scope_of(name: str | None) -> Scope | None:
    """Return the scope that *name* stands for, as in DEDUP_SCOPE; ``None`` for ``None``."""
    with _naming("--scope"):
        return None if name is None else Scope.of(name)


def preference_of(names: str) -> tuple[Preference, str | None]:
    """Return the preference that *names* stand for, and the field that ``newest:FIELD`` names."""
    with _naming("--keep"):
        preference = load_preference(CRITERIA, _DATE.sub("newest", names))
        fields = _DATE.findall(names)
        if len(fields) > 1:
            raise ValueError(f"newest is there twice, got {names!r}")
        return preference, fields[0] if fields else None


@contextmanager
def _naming(option: str) -> Iterator[None]:
    """Let import paths begin in the current folder, and name *option* in messages of errors."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    with naming(f"{option} "):
        yield


def check_new(*paths: Path | None) -> None:
    """Raise ValueError unless *paths* can be made; ``None`` is no file."""
    outputs = [path for path in paths if path]
    for path in outputs:
        folder = path.resolve().parent
        if os.path.lexists(path):
            raise ValueError(f"{path} exists: remove it, or choose another name")
        if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            raise ValueError(f"{path} must be in a folder that exists and is writable")
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise ValueError(f"{outputs[0]} is given for two outputs")
