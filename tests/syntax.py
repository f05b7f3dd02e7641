"""The syntax of the code, for tests that look for something in all of it."""

import ast
from functools import cache
from pathlib import Path

import dedup

PACKAGE = Path(dedup.__file__).parent


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a *file*."""
    return tuple(ast.walk(ast.parse(file.read_text("utf-8"))))


def nodes() -> list[tuple[Path, ast.AST]]:
    """Return all nodes of the package, each with its file."""
    return [(file, node) for file in PACKAGE.rglob("*.py") for node in nodes_of(file)]
