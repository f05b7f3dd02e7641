"""The checks of the code itself, so that one command runs everything."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "command", ["ruff check", "ruff format --check", "mypy --strict -p dedup -p crawler"]
)
def test_the_code_passes(command: str):
    done = subprocess.run(
        [sys.executable, "-m", *command.split(), *(["."] if "ruff" in command else [])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
