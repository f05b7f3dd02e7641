"""Who may import whom: dependencies point downwards only."""

import ast
from functools import cache

import pytest
from own_process import run_script
from syntax import PACKAGE, nodes_of

from dedup.cli import COMMANDS

LAYERS = """
arrays
text evidence atomic_file choices limits units wilson
words numbers lexicon diff records logs record scopes extraction preference fingerprints
methods rule claim item_values canonical
record_field plugins lost_text dropped
index
stores
search
page url_advice view
follower
earlier
detector
deduplicator workers report evaluation explanation calibration
scan history
spark
cli
scrapy_plugin
__main__
"""
"""One a line, from the bottom up."""
LEVEL = {part: level for level, line in enumerate(LAYERS.split("\n")) for part in line.split()}
FRAMEWORKS = {"scrapy", "twisted", "itemadapter"}


@cache
def imports_in(file):
    return [node for node in nodes_of(file) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported_modules(file):
    """The absolute names of all modules that a file imports, wherever in it."""
    for node in imports_in(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            assert node.level == 0, f"{file} imports relatively"
            yield node.module
            if node.module == "dedup":
                yield from (f"dedup.{alias.name}" for alias in node.names)


def files_of(part):
    return sorted((PACKAGE / part).rglob("*.py")) or [PACKAGE / f"{part}.py"]


def dedup_parts_imported_by(part):
    names = [name.split(".") for file in files_of(part) for name in imported_modules(file)]
    parts = {name[1] for name in names if name[0] == "dedup" and len(name) > 1}
    return parts - {part, "__version__"}


def parts_below(part):
    return {other for other in LEVEL if LEVEL[other] < LEVEL[part]}


def modules_loaded_by(statement):
    """All modules that are there when a new process has run *statement*."""
    script = f"import sys\ntry: {statement}\nfinally: print('\\n', *sys.modules)"
    output = run_script(script, check=False, cwd=PACKAGE.parent).stdout
    return set(output.splitlines()[-1].split())


def test_every_part_has_its_layer():
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert parts - {"__init__", "__pycache__", "py"} - set(LEVEL) == set()


def test_a_part_imports_from_lower_layers_only():
    wrong = {
        part: others
        for part in LEVEL
        if (others := dedup_parts_imported_by(part) - parts_below(part))
    }
    assert wrong == {}


def test_only_the_plugin_knows_scrapy():
    knowing = {
        (part, name)
        for part in set(LEVEL) - {"scrapy_plugin"}
        for file in files_of(part)
        for name in imported_modules(file)
        if name.split(".")[0] in FRAMEWORKS
    }
    assert knowing == set()


def test_the_crawler_imports_nothing_of_dedup():
    files = sorted((PACKAGE.parent / "crawler").rglob("*.py"))
    imported = {name.split(".")[0] for file in files for name in imported_modules(file)}
    assert files
    assert "dedup" not in imported


HEAVY = {*FRAMEWORKS, *"trafilatura jieba rjieba lxml pyarrow tldextract pyspark".split()}
START = "import dedup.scrapy_plugin as p; [getattr(p, name) for name in p.__all__]"
ONLY_LATER = {"trafilatura", "jieba", "rjieba", "pyarrow", "pyspark", "rich", "jinja2",
              "tldextract"}  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        pytest.param("import dedup", {*HEAVY, "numpy", "rich"}, id="the package"),
        pytest.param("import dedup.workers.worker", {*FRAMEWORKS, "rich", "trafilatura", "jieba"},
                     id="a worker"),
        pytest.param(START, ONLY_LATER, id="the start of a crawl", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_nothing_is_loaded_before_it_is_needed(statement, unwanted):
    assert modules_loaded_by(statement) & unwanted == set()


def test_the_commands_are_shown_without_any_of_them():
    loaded = modules_loaded_by("from dedup.cli import main; main(['--help'])")
    assert {name for name in loaded if name.startswith("dedup")} == {
        "dedup",
        "dedup.cli",
    }


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_loads_no_other_and_nothing_heavy(command):
    loaded = modules_loaded_by(f"from dedup.cli import main; main(['{command}', '--help'])")
    assert loaded & HEAVY == set()
    assert {name for name in COMMANDS if f"dedup.cli.{name}" in loaded} == {command}


@pytest.mark.slow
def test_scrapy_loads_nothing_of_dedup_but_the_command():
    """Its commands are in the list of every project; here in one that has the add-on, too."""
    loaded = modules_loaded_by("from scrapy.cmdline import execute; execute(['scrapy', 'list'])")
    assert {name for name in loaded if name.startswith("dedup")} == {
        "dedup", "dedup.cli",
        "dedup.scrapy_plugin", "dedup.scrapy_plugin.command",
    }  # fmt: skip
    assert loaded & {"trafilatura", "numpy", "regex", "rich"} == set()
