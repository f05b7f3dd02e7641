"""The Chinese documentation tells what the English one does: neither can change alone."""

import json
import re
from pathlib import Path

from cases import each
from scrapy.settings import Settings
from test_docs import blocks_of

from dedup.scrapy_plugin.settings import DedupSettings

ROOT = Path(__file__).parents[1]
SETTINGS = DedupSettings.from_settings(Settings()).shown
FOLDER = ROOT / "docs" / "zh"
PAGES = sorted(path.name for path in FOLDER.glob("*.md") if path.name != "index.md")
CHINESE = [ROOT / "README.zh.md", *sorted(FOLDER.glob("*.md"))]
NOT_TRANSLATED = {
    "report.md": ["Stats", "The JSON report", "All options"],
}
"""Sections that are told in English only, or in a few words elsewhere on the page."""

AVOIDED = {
    "账本": "去重库",
    "险些": "临界页面",
    "条目": "Item",
    "按最近的另一页面": "与最相近的另一页面的距离",
}
"""Words that are not to be used, and those of the glossary in docs/zh/index.md."""


def source_of(path: Path) -> str:
    """The text of a page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def code_of(document: str) -> list[tuple[str, str, str | None]]:
    """Return language, text and output of the blocks, without the comments in their code."""
    comments = re.compile(r" +#(?= ).*|^ *\"\"\".*?\"\"\"$", re.MULTILINE)
    return [
        (block.language, comments.sub("", block.text), block.printed)
        for block in blocks_of(document)
    ]


def headings_of(path: Path) -> list[tuple[int, str]]:
    found = re.findall(r"^(#+) (.*)$", source_of(path), re.MULTILINE)
    return [(len(marks), title) for marks, title in found]


@each("name", PAGES)
def test_a_page_has_the_sections_of_the_english_one(name: str):
    left_out = NOT_TRANSLATED.get(name, [])
    english = headings_of(ROOT / "docs" / name)
    assert set(left_out) <= {title for _, title in english}
    told = [level for level, title in english if title not in left_out]
    assert [level for level, _ in headings_of(FOLDER / name)] == told


@each("name", PAGES)
def test_a_page_has_the_blocks_of_the_english_one_which_are_run(name: str):
    assert code_of(f"docs/zh/{name}") == code_of(f"docs/{name}")


@each("name", PAGES)
def test_a_page_names_no_setting_that_there_is_not(name: str):
    names = set(re.findall(r"DEDUP_[A-Z_]*[A-Z]", (FOLDER / name).read_text("utf-8")))
    assert names - {*SETTINGS, "DEDUP_SECRET"} == set()  # of the environment


def test_the_settings_have_the_values_and_figures_of_the_english_tables():
    """Each row of a Chinese table has the figures of one of the English page."""
    english, chinese = (
        [
            sorted(re.findall(r"\d[\d.,]*\d|\d", row))
            for row in re.findall(r"^\|.*\|$", path.read_text("utf-8"), re.MULTILINE)
        ]
        for path in (ROOT / "docs" / "settings.md", FOLDER / "settings.md")
    )
    assert [row for row in chinese if row not in english] == []


def test_the_readme_has_the_sections_and_blocks_of_the_english_one():
    names = ("README.zh.md", "README.md")
    chinese, english = ([level for level, _ in headings_of(ROOT / name)] for name in names)
    assert chinese == english
    chinese, english = map(code_of, names)
    assert chinese == english


@each("path", CHINESE)
def test_comments_in_code_are_chinese_too(path: Path):
    for block in re.findall(r"^```python\n(.*?)^```$", path.read_text("utf-8"), re.DOTALL | re.M):
        for comment in re.findall(r"#.*|\"\"\".*?\"\"\"", block):
            assert re.search("[\u4e00-\u9fff]", comment), comment


def test_both_readmes_lead_to_it():
    for name in ("README.md", "README.zh.md"):
        assert "(docs/zh/index.md)" in (ROOT / name).read_text("utf-8")
    index = (FOLDER / "index.md").read_text("utf-8")
    assert [name for name in PAGES if f"({name})" not in index] == []


def test_terms_are_those_of_the_glossary():
    messages = json.loads((ROOT / "dedup/report/templates/messages.json").read_text("utf-8"))
    texts = {path.name: path.read_text("utf-8") for path in CHINESE}
    texts["messages.json"] = "\n".join(chinese for _, chinese in messages.values())
    for name, text in texts.items():
        assert [word for word in AVOIDED if word in text] == [], name
