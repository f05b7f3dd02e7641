"""The dedup command in Scrapy's own list."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]


def scrapy(*arguments: str, folder: Path = PROJECT) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_it_is_in_the_list_of_commands():
    listed = scrapy().stdout
    assert "dedup         Look at duplicates: " in listed


def test_it_does_what_the_dedup_command_does(tmp_path: Path):
    line = '{"text": "one word and one more word"}\n'
    (tmp_path / "pages.jsonl").write_text(2 * line)
    done = scrapy(
        "dedup", "lexicon", "pages.jsonl", "-o", "words", "--at-least", "1", folder=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("words: 4 words of 2 documents")


def test_its_help_and_its_errors_are_its_own(tmp_path: Path):
    helped = scrapy("dedup", "lexicon", "--help").stdout
    assert helped.startswith("usage: scrapy dedup lexicon")
    wrong = scrapy("dedup", "stats", "missing", folder=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (2, "scrapy dedup stats: missing is no file\n")
    assert scrapy("dedup", "unheard-of").returncode == 2
    assert scrapy("dedup", "--version", "lexicon").stdout.startswith("scrapy-dedup ")
    assert "scrapy dedup COMMAND --help" in scrapy("dedup", "--help").stdout
