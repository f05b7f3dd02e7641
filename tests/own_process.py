"""Python in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_python(
    *arguments: str | Path, check: bool = True, **how: Any
) -> subprocess.CompletedProcess[str]:
    """Run Python with *arguments*; what it runs imports what the tests do.

    *how* is for `subprocess.run`. With *check*, it has to end well.
    """
    path = os.pathsep.join(filter(None, sys.path))
    how["env"] = {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1", **how.get("env", {})}
    how = {"capture_output": True, "encoding": "utf-8", "timeout": 180, **how}
    if "stdin" not in how and "input" not in how:
        how["stdin"] = subprocess.DEVNULL
    done = subprocess.run([sys.executable, *arguments], check=False, **how)
    assert not check or done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done


def run_script(script: str, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run *script* as `run_python` does."""
    return run_python("-c", script, **how)


def outputs_by_seed(script: str, **how: Any) -> set[str]:
    """Return what *script* prints with each of several seeds of Python's own hashes."""
    return {run_script(script, env={"PYTHONHASHSEED": seed}, **how).stdout for seed in ("1", "2")}
