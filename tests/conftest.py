"""Makes the modules that tests share importable by their names, and Ctrl-C work in all of them.

And what makes the tests fast, and a disk that is soon full.
"""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

for folder in ("", "cli", "report", "scrapy_plugin", "workers"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

# A shell starts what runs in its background deaf to Ctrl-C, and so would be what tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection(session: pytest.Session) -> None:
    gc.disable()
    if not session.config.pluginmanager.has_plugin("dsession"):  # its workers collect
        _prepare_hypothesis(is_fast_loop=session.config.option.markexpr == "not slow")


def _prepare_hypothesis(*, is_fast_loop: bool) -> None:
    """Let Hypothesis take its time on a busy machine.

    In the fast loop it tries fewer examples, where a test names no number of them.
    """
    os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")  # one imports trio, which Selenium needs
    from hypothesis import HealthCheck, settings

    examples = 20 if is_fast_loop else 100
    unhurried = [HealthCheck.too_slow]
    settings.register_profile(
        "unhurried", max_examples=examples, deadline=None, suppress_health_check=unhurried
    )
    settings.load_profile("unhurried")


def pytest_collection_finish() -> None:
    """Have the collector run seldom, and not look at what was collected, modules and tests."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Collect what the tests left, once: pytest does so five times in vain before it ends."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a worker of pytest-xdist send what tests have printed and logged, whatever it is."""
    report = yield
    report.sections = [
        (title, text.encode("utf-8", "backslashreplace").decode())
        for title, text in report.sections
    ]
    return report


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 400 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a disk cannot be mounted here: {error}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
