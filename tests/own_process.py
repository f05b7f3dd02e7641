"""Scripts of Python that run in a process of their own."""

import os
import subprocess
import sys
from typing import Any


def run_script(script: str, *, check: bool = True, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run *script*, which imports what the tests do, and return what it prints.

    *how* is for `subprocess.run`. With *check*, it has to end well.
    """
    path = os.pathsep.join(filter(None, sys.path))
    how["env"] = {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1", **how.get("env", {})}
    how = {"capture_output": True, "encoding": "utf-8", "timeout": 180, **how}
    return subprocess.run([sys.executable, "-c", script], check=check, **how)


def outputs_by_seed(script: str, **how: Any) -> set[str]:
    """Return what *script* prints with each of several seeds of Python's own hashes."""
    return {run_script(script, env={"PYTHONHASHSEED": seed}, **how).stdout for seed in ("1", "2")}
