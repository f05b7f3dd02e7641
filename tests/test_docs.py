"""Every fenced block of the documentation is run, or it is said here why it is not.

A document is a session in a folder of its own, from its top to its end:

* ``sh`` is run by a shell in which ``dedup``, ``scrapy`` and ``python`` are those of the tests, and
  ``scrapy`` crawls one page after the other, so that each crawl meets them in the same order,
* ``text`` or ``json`` after it is what it prints; after a crawl, these are lines of its log,
* ``python`` that sets settings is loaded as the settings of a crawl, in a copy of the folder; any
  other is executed,
* ``sql`` is asked of the ledger of the session.

README.zh.md and docs/zh have the blocks of the English pages (test_chinese_docs.py).
"""

import ast
import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, chdir, closing
from importlib.util import find_spec
from pathlib import Path
from socket import create_server, socket
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import collections_on_disk
import pytest
import scrapy.squeues
from cases import each
from crawls import crawl_site, path_of
from redis_server import RedisServer, redis_server
from texts import article, page, replaced
from web import served

from crawler.demo import server
from crawler.demo.server import DemoServer
from dedup.cli import main

ROOT = Path(__file__).parents[1]

NOT_RUN = {
    "CONTRIBUTING.md: python3 -m venv": "makes an environment in the folder of a contributor",
    "CONTRIBUTING.md: pytest -q": "runs these very tests",
    "CONTRIBUTING.md: python benchmarks": "takes hours",
    "CONTRIBUTING.md: rm -rf picture": "needs a browser and fonts",
    "README.md: python3 -m venv --without-pip .venv && python3 -m pip --python .venv/bin/python "
    "install -q -e '.[test]'": "runs these very tests, in an environment of its own",
    "docs/architecture.md:  Scrapy": "a drawing",
    "docs/fleet.md: apt install redis": "installs software, as root",
    "docs/fleet.md: apt install postgresql": "installs software, as root",
    "docs/fleet.md: redis-server": "the server of this session has these options",
    'docs/recipes.md: ADDONS = {"dedup.scrapy_plugin.Addon": 500}\nDOWNLOAD': "run by "
    "test_recipes.py, in a browser",
    'docs/recipes.md: ADDONS = {"scrapy_poet': "run by test_recipes.py",
    'docs/recipes.md: ADDONS = {"dedup.scrapy_plugin.Addon": 500}\nREDIS_URL': "run by "
    "test_scrapy_redis.py, with a server",
    "docs/scan.md: python benchmarks/scan.py": "takes half an hour, and needs the peers",
    "docs/scan.md: dedup scan s3a:": "needs a cluster",
    "docs/scan.md: spark-submit": "needs a cluster",
}
"""Blocks that are not run, by how they begin, and why."""

if not hasattr(scrapy.squeues, "PickleLifoSQLiteQueue"):
    NOT_RUN["docs/guarantees.md: SCHEDULER_DISK_QUEUE"] = "queues of Scrapy 2.19"

if not find_spec("pyspark"):
    NOT_RUN["docs/scan.md: .venv/bin/dedup scan pages.jsonl -o unique --spark"] = "no Spark"
    NOT_RUN["docs/scan.md: cat > deduplicate.py"] = "no Spark"

INSTEAD = {
    # The port may be another one each time.
    "dedup explain http://127.0.0.1:8642/zh/article/ferry-reprint.html": (
        'dedup explain "$(sqlite3 town.sqlite '
        '"SELECT url FROM matches WHERE url LIKE \'%ferry-reprint%\'")"'
    ),
    "dedup explain https://example.com/page": (
        'dedup explain "$(sqlite3 town.sqlite "SELECT url FROM matches LIMIT 1")"'
    ),
    # The environment of the tests is made already.
    "python3 -m venv --without-pip .venv && python3 -m pip --python .venv/bin/python "
    "install -q -e . && ": "",
    "mkdir ../town && cd ../town && python3 -m venv --without-pip .venv\n"
    "python3 -m pip --python .venv/bin/python install -q ../scrapy-dedup": "rm scrapy.cfg",
    # A site on loopback.
    "https://docs.example.com/": "{site}/",
}
"""What is run in the place of something that a shell is told."""

CHANGING = {
    # The last columns of an evaluation: milliseconds and bytes of a page.
    r" +\d+\.\d\d +[\d,]+$": "  # #",
    r"\d[\d,.]* (pages )?a second": "# a second",
}
"""Figures that are others each time, and what is compared in their place."""


SERVES = re.compile(r"\.venv/bin/python -m crawler\.demo(?: --edition (?P<edition>\d))?\n")
"""What another terminal runs until Ctrl-C; the server itself is tested in crawler/test_demo.py."""
DEMO = "127.0.0.1:8642"
REDIS = "localhost:6379"
"""Where the documentation has them; a session has ports of its own."""
WITH_REDIS = {"docs/fleet.md"}
"""Documents whose sessions have a server of Redis, with the options that they show."""

IN_ORDER = {
    "CONCURRENT_REQUESTS": 1,
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,  # bytes: the next page is asked for once this one is done
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "AUTOTHROTTLE_ENABLED": 0,  # a server of one's own needs no politeness
    "DEDUP_WORKERS": 0,  # a process to start in each crawl, of which nothing is told
}
"""Settings with which a crawl meets pages in the same order, however busy the machine is.

Which of two copies is kept, and thus the figures, depend on that order. First in, first out gives
the figures that a polite crawl has, whose requests all wait for a while.
"""

SCRAPY = (
    "from crawler.demo import server; server.PORTS = {ports}; "
    "from scrapy.cmdline import execute; execute()"
)
"""The command ``scrapy``, with ports for the demonstration that are free."""

SQLITE = """
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): print(*row, sep='|')
"""
"""The command ``sqlite3``, where the system has none."""


class Block(NamedTuple):
    """A fenced block, and what its text is said to print, if the next block tells."""

    document: str
    line: int
    language: str
    text: str
    printed: str | None = None

    @property
    def reason(self) -> str | None:
        """Why it is not run."""
        here = f"{self.document}: {self.text}"
        return next((NOT_RUN[start] for start in NOT_RUN if here.startswith(start)), None)


FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks_of(document: str) -> list[Block]:
    """Return the blocks of a document, an output with what prints it."""
    source = (ROOT / document).read_text()
    found: list[Block] = []
    for match in FENCED.finditer(source):
        language, text = match.groups()
        before = found[-1] if found else None
        if before and before[2::2] == ("sh", None) and language in ("text", "json"):
            found[-1] = before._replace(printed=text)
        else:
            line = source.count("\n", 0, match.start()) + 1
            found.append(Block(document, line, language, text))
    return found


DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]
    if path.name != "README.zh.md" and path.parent.name != "zh"
)
WITH_BLOCKS = [document for document in DOCUMENTS if blocks_of(document)]


class Session:
    """Runs the blocks of a document, one after the other, in *folder*."""

    def __init__(
        self, folder: Path, site: str, ports: tuple[int, int], redis: RedisServer | None
    ) -> None:
        self._folder = folder
        self._demo = DemoServer()
        self._hosts = {DEMO: f"127.0.0.1:{ports[0]}"}
        if redis:
            self._hosts[REDIS] = f"127.0.0.1:{redis.port}"
        self._site = site
        self._names: dict[str, Any] = {}
        commands = folder / ".venv" / "bin"
        commands.mkdir(parents=True)
        in_order = " ".join(f"-s {name}={value}" for name, value in IN_ORDER.items())
        for name, run in {
            "dedup": '-m dedup "$@"',
            "scrapy": f'-c "{SCRAPY.format(ports=ports)}" "$@" {in_order}',
            "python": '"$@"',
        }.items():
            _write_command(commands / name, f'exec "{sys.executable}" {run}')
        if not shutil.which("sqlite3"):
            _write_command(commands / "sqlite3", f'exec "{sys.executable}" -c "{SQLITE}" "$@"')
        path = f"{commands}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = crawler.settings\n")

    def run(self, block: Block) -> None:
        runs = {"sh": self._run_sh, "python": self._run_python, "sql": self._run_sql}
        if block.language not in runs:
            pytest.fail(f"no output of a command, and neither run nor in NOT_RUN:\n{block.text}")
        runs[block.language](block)

    def close(self) -> None:
        self._demo.stop()

    def _serve(self, edition: int) -> None:
        """Serve the demonstration, as another terminal does, until the end of the session."""
        self._demo.stop()
        self._demo = DemoServer(edition).start()

    def _run_sh(self, block: Block) -> None:
        if serves := SERVES.fullmatch(block.text):
            self._serve(int(serves["edition"] or 1))
            return
        commands = block.text
        for written, run in INSTEAD.items():
            commands = commands.replace(written, run.format(site=self._site))
        commands = self._with_own_hosts(commands)
        shows_errors = re.search(r"^dedup \w+: ", block.printed or "", re.MULTILINE)
        done = subprocess.run(
            ["sh", *([] if shows_errors else ["-e"]), "-c", commands],
            cwd=self._folder, env=self._environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0 or shows_errors, done.stdout
        if block.printed is None:
            return
        output = done.stdout
        for shown, own in self._hosts.items():
            output = output.replace(own, shown)
        printed = _steady(output)
        shown = _steady(block.printed)
        if "scrapy crawl" in commands:
            # Between these lines are others.
            assert [line for line in shown if line not in printed and "..." not in line] == []
        else:
            assert printed == shown

    def _with_own_hosts(self, text: str) -> str:
        for shown, own in self._hosts.items():
            text = text.replace(shown, own)
        return text

    def _run_python(self, block: Block) -> None:
        if not all(isinstance(statement, ast.Assign) for statement in ast.parse(block.text).body):
            exec(block.text, self._names)
            return
        settings: dict[str, Any] = {}
        with TemporaryDirectory() as copy:
            text = block.text.replace("/var/lib/town", copy)
            exec(self._with_own_hosts(text), settings)
            del settings["__builtins__"]
            shutil.copytree(self._folder, copy, dirs_exist_ok=True)
            with chdir(copy):
                check_settings(settings)

    def _run_sql(self, block: Block) -> None:
        with closing(sqlite3.connect(self._folder / "pages.sqlite")) as connection:
            connection.execute(block.text).fetchall()


def _write_command(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def _steady(output: str) -> list[str]:
    """Return the lines of an output, without what is another each time."""
    lines = []
    for line in output.splitlines():
        steady = line
        for pattern, mask in CHANGING.items():
            steady = re.sub(pattern, mask, steady)
        # The columns after it stand elsewhere then.
        lines.append((line if steady == line else re.sub(" +", " ", steady)).rstrip())
    return lines


OF_ITEMS = ("sku", "headword", "id")
"""The fields by which the documentation tells items apart."""


def check_settings(settings: dict[str, Any]) -> None:
    """Crawl with *settings*: a copy is dropped, or marked, and nothing is warned of."""
    if "EXTENSIONS" in settings:
        settings["ADDONS"] = {}
    if "SCHEDULER_DISK_QUEUE" in settings:
        settings["JOBDIR"] = "job"
    text = article(1)
    site = {
        "/site/page": page(text),
        "/site/copy": page(text, footer="Mirror"),
        "/site/other": page(article(2)),
    }

    def parse(self: Any, response: Any) -> Any:
        yield {"url": response.url, "body": response.text, **dict.fromkeys(OF_ITEMS, "L-1")}

    result = crawl_site(site, parse=parse, _job="26", **settings)
    copies = [item for item, _ in result.dropped]
    if settings.get("DEDUP_ACTION") == "mark":
        copies = [i for i in result.items if i["dedup"]["verdict"] == "exact-duplicate"]
    assert [path_of(item["url"]) for item in copies] == ["/site/copy"]
    assert not result.messages()
    assert "log_count/ERROR" not in result.stats


def write_pages_to_calibrate(folder: Path) -> None:
    """Write 300 pages, 100 copies of some with ever more words replaced, and 80 answers.

    Whoever answered them calls it a copy as long as a seventh of the words or less is another.
    """
    texts = {f"https://example.com/{number}": article(number, 300) for number in range(300)}
    copies = {f"https://mirror.example.org/{number}": number // 2 + 1 for number in range(100)}
    for number, (url, count) in enumerate(copies.items()):
        texts[url] = replaced(article(number, 300), count)
    lines = (json.dumps({"url": url, "text": text}) + "\n" for url, text in texts.items())
    (folder / "pages.jsonl").write_text("".join(lines))
    methods = ["--method", "simhash"]
    asked = folder / "asked.tsv"
    main(["evaluate", str(folder / "pages.jsonl"), *methods, "--sample", "80", "-o", str(asked)])
    with asked.open(newline="") as file, (folder / "pairs.tsv").open("w") as answers:
        answers.write("key1\tkey2\tlabel\n")
        for row in csv.DictReader(file, delimiter="\t"):
            one, other = row["key1"], row["key2"]
            is_copy = one.rpartition("/")[2] == other.rpartition("/")[2]
            is_right = is_copy and max(copies.get(one, 0), copies.get(other, 0)) < 300 / 7
            answers.write(f"{one}\t{other}\t{'yes' if is_right else 'no'}\n")
    asked.unlink()


def write_files_to_scan(folder: Path) -> None:
    """Write two WARCs and a Parquet table."""
    (folder / "crawl").mkdir()
    texts = [article(1), article(2), article(1)]
    for number in range(2):
        name = folder / "crawl" / f"{number}.warc.gz"
        collections_on_disk.write(name, texts, first=10 * number)
    import pyarrow as pa
    import pyarrow.parquet as pq

    days = [f"2026-01-0{day}" for day in (1, 2, 3)]
    pq.write_table(pa.table({"text": texts, "fetched": days}), folder / "pages.parquet")


def write_method(folder: Path) -> None:
    """Write the method that docs/architecture.md shows, and pages with judged pairs."""
    write_pages_to_calibrate(folder)
    write_module(folder / "my_project" / "methods.py", "docs/architecture.md")


def write_scopes(folder: Path) -> None:
    """Write the functions that the recipes show."""
    write_module(folder / "my_project" / "scopes.py", "docs/recipes.md")


def write_module(path: Path, document: str) -> None:
    """Write what a document defines in Python."""
    path.parent.mkdir()
    blocks = (block for block in blocks_of(document) if block.language == "python")
    path.write_text("\n".join(block.text for block in blocks if "def " in block.text))


INPUTS: dict[str, Callable[[Path], None]] = {
    "docs/methods.md": write_method,
    "docs/recipes.md": write_scopes,
    "docs/scan.md": write_files_to_scan,
}
"""What is there before the first block."""


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """Two ports for the demonstration that stay free between one crawl and the next.

    They are none of those that systems give out, and no other session of these tests takes them.
    """
    for first in range(8650, 9990, 3):
        ports = first, first + 1
        with socket() as taken:
            try:
                taken.bind(("127.0.0.1", first + 2))
                for port in ports:
                    create_server(("127.0.0.1", port)).close()
            except OSError:
                continue
            monkeypatch.setattr(server, "PORTS", ports)
            yield ports
            return
    pytest.fail("no port is free")


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with served({"/": page(article(1))}) as url:
        yield url


def documented_redis(document: str) -> AbstractContextManager[RedisServer]:
    """Run the server that *document* starts."""
    [command] = re.findall(r"^redis-server --(.*)$", (ROOT / document).read_text(), re.MULTILINE)
    options = (option.split() for option in command.split("--"))
    return redis_server(**{name.replace("-", "_"): value for name, value in options})


@pytest.mark.slow
@pytest.mark.parametrize("document", WITH_BLOCKS)
def test_every_block_works(
    document: str,
    site: str,
    ports: tuple[int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)  # what is executed may write files
    monkeypatch.syspath_prepend(tmp_path)
    if document in INPUTS:
        INPUTS[document](tmp_path)
    blocks = blocks_of(document)
    with ExitStack() as ending:
        redis = ending.enter_context(documented_redis(document)) if document in WITH_REDIS else None
        session = Session(tmp_path, site, ports, redis)
        ending.enter_context(closing(session))
        for block in blocks:
            if block.reason:
                continue
            try:
                session.run(block)
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(f"{document}, line {block.line}")
                raise


RECIPES = [
    # A scope of docs/recipes.md, pages of one text with their numbers, and which of them are kept.
    ("field:sku", "/a=1 /b=2 /c=1 /d", "/a /b /d"),
    ("my_project.scopes.product", "/a=1 /b=2 /c /d", "/a /b /c"),
    (["field:headword", "host"], "/a=1 /b=2 /c=1", "/a /b"),
    ("my_project.scopes.version", "/v1/a /v2/a /v1/b", "/v1/a /v2/a"),
    ("language", "/de/a /en/a /de/b", "/de/a /en/a"),
    ("my_project.scopes.judged", "/jobs/a /jobs/b /c /d", "/jobs/a /jobs/b /c"),
    # /start/ says nothing, and its page declares to be in English.
    ("my_project.scopes.language_of_path", "/de/a /en/a /de/b /start/a", "/de/a /en/a"),
]


@pytest.mark.slow
def test_the_recipes_keep_what_they_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_scopes(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    recipes = (ROOT / "docs" / "recipes.md").read_text()
    for scope, pages, kept in RECIPES:
        if "language_of_path" not in scope:
            assert f"DEDUP_SCOPE = {json.dumps(scope)}" in recipes
        german = page(article(1)).replace('lang="en"', 'lang="de"')
        told = (one.partition("=") for one in pages.split())
        numbers = {path: number or None for path, _, number in told}
        site = {path: german if "/de/" in path else page(article(1)) for path in numbers}

        def parse(self: Any, response: Any, numbers: Any = numbers) -> Any:
            yield {"url": response.url, **dict.fromkeys(OF_ITEMS, numbers[path_of(response.url)])}

        assert crawl_site(site, parse=parse, DEDUP_SCOPE=scope).stored == kept.split(), scope


def test_no_reason_is_left_of_a_block_that_is_gone():
    blocks = [block for document in WITH_BLOCKS for block in blocks_of(document)]
    for start in NOT_RUN:
        assert [f"{b.document}: {b.text}".startswith(start) for b in blocks].count(True) == 1, start
    told = "\n".join(block.text for block in blocks)
    assert [written for written in INSTEAD if written not in told] == []


@each("document", [*DOCUMENTS, "README.zh.md"])
def test_every_fence_is_seen(document: str):
    source = (ROOT / document).read_text()
    fences = re.findall(r"^\s*(?:```|~~~)", source, re.MULTILINE)
    assert len(fences) == 2 * len(FENCED.findall(source))
