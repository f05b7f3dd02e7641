"""The dedup command in Scrapy's own list."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]


def scrapy(*arguments: str, folder: Path = PROJECT) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_it_is_in_the_list_of_commands():
    assert "dedup         Look at duplicates: " in scrapy().stdout


def test_it_does_what_the_dedup_command_does_under_its_own_name(tmp_path: Path):
    wrong = scrapy("dedup", "report", "missing", folder=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (2, "scrapy dedup report: missing is no file\n")
