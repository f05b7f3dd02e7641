"""What the README and the documentation say is true; test_docs.py runs what they show."""

import ast
import inspect
import re
import tomllib
from pathlib import Path

import pytest
from cases import each
from scrapy.settings import Settings
from syntax import nodes
from test_chinese_docs import headings_of, source_of

from crawler.spiders.site import SiteSpider
from dedup.scrapy_plugin.settings import DedupSettings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def anchors_of(path: Path) -> set[str]:
    """The anchors that GitHub makes of headings."""
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for _, title in headings_of(path)
    }


def test_every_argument_of_the_spider_is_documented():
    first_steps = (ROOT / "docs" / "first-steps.md").read_text()
    section = first_steps.partition("| argument | meaning |")[2].partition("\n\n")[0]
    table = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert table == set(inspect.signature(SiteSpider.__init__).parameters) - {"self", "others"}
    for name in table:
        assert re.search(rf"^{name} ", inspect.getdoc(SiteSpider) or "", re.MULTILINE)


@pytest.mark.parametrize("page", ["settings.md", "zh/settings.md"])
def test_every_setting_is_documented_with_its_default(page: str):
    shown = DedupSettings.from_settings(Settings()).shown
    told = (ROOT / "docs" / page).read_text("utf-8")
    documented = dict(re.findall(r"^\| `(DEDUP_\w+)` \| `([^`]*)` \|", told, re.MULTILINE))
    assert {name: eval(default) for name, default in documented.items()} == dict(
        shown
    )  # eval: the defaults are Python literals


def test_every_dependency_and_every_extra_has_its_reason():
    source = (ROOT / "pyproject.toml").read_text()
    project = tomllib.loads(source)["project"]
    for requirement in project["dependencies"]:
        assert re.search(rf'^    "{re.escape(requirement)}",? +# \w', source, re.MULTILINE)
    first_steps = (ROOT / "docs" / "first-steps.md").read_text()
    rows = re.findall(r"^\| (.*?) \|", first_steps.partition("## Extras")[2], re.MULTILINE)
    told = {name.strip(" `") for row in rows for name in row.split(",")}
    assert set(project["optional-dependencies"]) <= told


def test_the_chinese_readme_shows_the_same():
    """Its figures are those of the English pages that tell the same."""
    chinese = (ROOT / "README.zh.md").read_text()
    names = ("first-steps", "methods")
    english = README + "".join((ROOT / "docs" / f"{name}.md").read_text() for name in names)
    figures = re.compile(r"\d[\d,.]*\d|\d").findall
    assert set(figures(chinese)) <= set(figures(english))


@each("path", [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
def test_links_lead_to_files_and_sections_that_are_there(path: Path):
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", source_of(path)):
        file = path.parent / target if target else path
        assert file.exists(), target
        assert not anchor or anchor in anchors_of(file), f"{target}#{anchor}"


@pytest.mark.slow
def test_every_message_that_the_documentation_explains_is_one_of_the_code():
    told = (ROOT / "docs" / "troubleshooting.md").read_text()
    section = told.partition("## Messages")[2].partition("\n## ")[0]
    messages = re.findall(r"^\| `(.*?)` \|", section, re.MULTILINE)
    texts = [
        node.value
        for _, node in nodes()
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    said = "\n".join(texts)
    assert len(messages) > 20
    for message in messages:
        parts = [part.strip(" .") for part in message.split("…")]
        assert [part for part in parts if part not in said] == [], message


def test_every_stat_that_the_documentation_names_is_one_of_the_code():
    report = (ROOT / "docs" / "report.md").read_text()
    told = report.partition("## Stats")[2].partition("A page is skipped")[0]
    names = re.findall(r"`dedup/([\w/<>]+)`", told)
    code = "\n".join(path.read_text() for path in (ROOT / "dedup").rglob("*.py"))
    words = set(re.findall(r"\w+", code))
    assert len(names) > 30
    for name in names:
        kind, _, detail = name.partition("/")
        assert (detail if detail and "<" not in detail else kind) in words, name
