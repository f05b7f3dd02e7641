"""The syntax of the code, for tests that look for something in all of it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import dedup

PACKAGE = Path(dedup.__file__).parent


def nodes_of(file: Path) -> Iterator[ast.AST]:
    """Return all nodes of the syntax tree of a *file*.

    Trees are not kept: the collector of garbage would look at a million nodes again and again.
    """
    return ast.walk(ast.parse(file.read_text("utf-8")))


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Return all nodes of the package, each with its file."""
    return ((file, node) for file in PACKAGE.rglob("*.py") for node in nodes_of(file))
