"""The examples in docstrings are right."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Only these are imported: to look for examples in all modules takes long.
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("dedup", "crawler")
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_show_what_it_does(name):
    if name.startswith("dedup.spark"):
        pytest.importorskip("pyspark", reason="needs Spark: .[test-all]")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(import_module(name.removesuffix(".__init__")), optionflags=flags)
    assert result.attempted
    assert result.failed == 0  # what differs is in the output
