"""What the README shows, works as it stands there."""

import csv
import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from crawls import crawl, spider_over
from scrapy.settings import Settings
from texts import article, edited, page, replaced
from web import served

import dedup.index
from crawler.spiders.site import SiteSpider
from dedup.cli import main
from dedup.index import Match
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.search import index_for
from dedup.text import Document

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)


def names_of(snippet: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(snippet, names)
    return {name: value for name, value in names.items() if name.isupper()}


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_every_snippet_is_settings_that_a_crawl_accepts(snippet: str, tmp_path: Path):
    settings = names_of(snippet)
    for name in ("DEDUP_REPORT", "DEDUP_INDEX", "DEDUP_DUPLICATES"):
        if name in settings:
            settings[name] = tmp_path / settings[name]
    if "EXTENSIONS" in settings:
        settings["ADDONS"] = {}
    site = {"/a": page(article(1)), "/b": page(edited(article(1))), "/c": page(article(2))}

    def parse(self: Any, response: Any) -> Any:
        yield {"url": response.url, "body": response.text}

    with served(site) as url:
        result = crawl(spider_over(*(url + path for path in site), parse=parse), **settings)
    kept = 3 if settings.get("DEDUP_ACTION") == "mark" else 2
    assert len(result.items) == kept
    assert not result.messages()


def test_the_commands_install_and_run_what_they_say():
    run, site, test = COMMANDS
    install = "python3 -m pip --python .venv/bin/python install -q -e"
    assert install in run
    assert install in test
    for command in COMMANDS:
        assert subprocess.run(["sh", "-n", "-c", command], check=False).returncode == 0
    arguments = dict(re.findall(r"-a (\w+)=(\S+)", site))
    assert SiteSpider(**arguments).start_urls == ["https://docs.example.com/"]


def test_every_argument_of_the_spider_is_in_the_readme():
    section = README.partition("| argument | meaning |")[2].partition("\n\n")[0]
    table = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert table == set(inspect.signature(SiteSpider.__init__).parameters) - {"self", "others"}
    for name in table:
        assert re.search(rf"^    {name} ", SiteSpider.__doc__ or "", re.MULTILINE)


def test_every_setting_is_documented_with_its_default():
    shown = DedupSettings.from_settings(Settings()).shown
    documented = dict(re.findall(r"## (DEDUP_\w+)\n\nType: .*?Default: `([^`]*)`", SETTINGS))
    assert {name: eval(default) for name, default in documented.items()} == dict(
        shown
    )  # eval: the defaults are Python literals


def test_every_dependency_has_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    reasons = README[README.index("## What it stands on") :]
    for requirement in project["dependencies"]:
        assert re.match(r"[\w-]+", requirement)[0] in reasons


def test_the_chinese_readme_shows_the_same():
    """Its code, figures and links are those of the English one, in their order."""
    chinese = (ROOT / "README.zh.md").read_text()
    for pattern in (r"```\w+\n.*?```", r"\d[\d,.]*\d|\d"):
        code = re.compile(pattern, re.DOTALL)
        assert sorted(code.findall(README)) == sorted(code.findall(chinese)), pattern
    links = re.compile(r"\((docs/[\w.]+|CHANGELOG.md)\)")
    assert set(links.findall(README)) == set(links.findall(chinese))


@pytest.mark.parametrize(
    "file", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda f: f.name
)
def test_links_lead_to_files_that_are_there(file: Path):
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[\w-]+)?\)", file.read_text()):
        assert (file.parent / target).exists(), target


def test_the_readme_is_short_enough_to_be_read():
    assert len(README.splitlines()) < 250


def test_nothing_was_left_to_fill_in():
    assert not re.search(r"[A-Z]{4,}_TABLE|TODO|XXX", README)


def test_the_method_that_the_documentation_shows_is_one():
    fingerprints, keys = re.findall(r"```python\n(.*?)```", ARCHITECTURE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(fingerprints, names)
    exec(keys, names)
    longest = names["LongestWords"](0.5)
    sketch = longest.sketch(Document("some words of different lengths"))
    other = longest.sketch(Document("some words of various lengths"))
    index = index_for(longest)
    index.add(longest.from_bytes(longest.to_bytes(sketch)))
    assert longest.parameters == {"max_distance": 0.5}
    assert index.query(other) == Match(0, 1 - 4 / 5)
    method = names["LongWords"]()
    assert method.sketch(Document("the same letters")) == method.sketch(Document("same letters a"))
    assert method.sketch(Document("a b c")) is None


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
    methods = ["--method", "simhash", "verified"]
    asked = folder / "asked.tsv"
    main(["calibrate", str(folder / "pages.jsonl"), *methods, "--pairs", "80",
        "--pairs-out", str(asked)])  # fmt: skip
    with asked.open(newline="") as file, (folder / "answers.tsv").open("w") as answers:
        answers.write("key1\tkey2\tlabel\n")
        for row in csv.DictReader(file, delimiter="\t"):
            one, other = row["key1"], row["key2"]
            is_copy = one.rpartition("/")[2] == other.rpartition("/")[2]
            is_right = is_copy and max(copies.get(one, 0), copies.get(other, 0)) < 300 / 7
            answers.write(f"{one}\t{other}\t{'yes' if is_right else 'no'}\n")


def test_the_commands_print_what_their_documentation_shows(tmp_path: Path):
    text = (ROOT / "docs" / "commands.md").read_text()
    write_pages_to_calibrate(tmp_path)
    snippets = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert snippets
    for commands, shown in snippets:
        done = subprocess.run(
            ["sh", "-e", "-c", f'dedup() {{ {sys.executable} -m dedup "$@"; }}\n{commands}'],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert [line.rstrip() for line in done.stdout.splitlines()] == shown.splitlines()


def test_the_index_documentation_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = (ROOT / "docs" / "index.md").read_text()
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for snippet in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(snippet, names)
    assert dict(names["index"]) == {1: 0b1111_0000}
    for design, probes in re.findall(
        r"`((?:multi_index|permuted|nested)\([^`]*\))`[^|]*\| [^|]*\| (\d+) ", text
    ):
        assert eval(design, vars(dedup.index)).probes == int(probes)
