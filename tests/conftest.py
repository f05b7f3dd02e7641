"""Makes the modules that tests share importable by their names, and Ctrl-C work in all of them.

And what makes the tests fast, and a disk that is soon full.
"""

import asyncio
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from fcntl import LOCK_EX, LOCK_SH, LOCK_UN, flock
from inspect import iscoroutinefunction
from pathlib import Path

import pytest

for folder in ("", "cli", "report", "scrapy_plugin", "workers"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

TESTS = Path(__file__).parent
LONGEST = (
    "spark/test_scan_on_spark.py",
    "spark/test_standalone_cluster.py",
    "spark/test_deduplicate.py",
    "spark/test_judge.py",
    "test_docs.py",
    "scrapy_plugin/test_fleet.py",
    "stores/test_log.py",
    "stores/test_conformance.py",
    "scrapy_plugin/test_crashes.py",
    "scrapy_plugin/test_shared_stores.py",
    "scrapy_plugin/test_crawling.py",
    "scrapy_plugin/test_reactors.py",
    "scrapy_plugin/test_feeds.py",
    "workers/test_worker_pool.py",
    "test_packaging.py",
    "test_benchmarks.py",
)
"""The files that take longest: they are begun first, so that nobody waits for them at the end."""

# Most of what Spark does here is done once: the best compiler of Java takes longer than it saves.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# A shell starts what runs in its background deaf to Ctrl-C, and so would be what tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection(session: pytest.Session) -> None:
    gc.disable()
    if not session.config.pluginmanager.has_plugin("dsession"):  # its workers collect
        _prepare_hypothesis()


def _prepare_hypothesis() -> None:
    """Let Hypothesis take its time on a busy machine, and try few examples but before a release."""
    os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")  # one imports trio, which Selenium needs
    from cases import IS_THOROUGH
    from hypothesis import HealthCheck, settings

    examples = 200 if IS_THOROUGH else 20
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


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Have twice as many processes as processors, since tests mostly wait; none for some files."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    if all(Path(argument.partition("::")[0]).is_file() for argument in config.args):
        return 0
    return 2 * len(os.sched_getaffinity(0))


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keep together what shares what it sets up: a file, and all tests with Spark."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith("tests/spark/"):
                return "tests/spark"
            path = nodeid.partition("::")[0]
            return nodeid if path in ("tests/test_docs.py", "tests/test_benchmarks.py") else path

    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, and end with those that are to be alone."""
    paths = dict.fromkeys([*(TESTS / name for name in LONGEST), *(item.path for item in items)])
    places = {path: place for place, path in enumerate(paths)}
    last = {item.path for item in items if _is_alone(item)}
    spark = TESTS / "spark"
    items.sort(
        key=lambda item: (
            item.path in last,
            spark not in item.path.parents,
            places[item.path],
            _is_alone(item),
        )
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine in an event loop of its own, in which what it has used is closed, too."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def run() -> None:
        try:
            await pyfuncitem.obj(**arguments)
        finally:
            for argument in arguments.values():
                if hasattr(argument, "aclose"):
                    await argument.aclose()

    asyncio.run(run())
    return True


@contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    file = os.open(path, os.O_RDONLY)
    try:
        flock(file, how)
        yield
    finally:
        flock(file, LOCK_UN)
        os.close(file)


_HOLDS = pytest.StashKey[bool]()
_held = ExitStack()  # the lock of tests that are alone, which is kept from one to the next


def _is_alone(item: pytest.Item | None) -> bool:
    return item is not None and item.get_closest_marker("alone") is not None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Run what measures time or memory while no other process runs a test."""
    if not item.session.stash.get(_HOLDS, False):
        with _locked(TESTS / "conftest.py", LOCK_EX):  # so that who waits comes next
            _held.enter_context(_locked(TESTS, LOCK_EX if _is_alone(item) else LOCK_SH))
    try:
        return (yield)
    finally:
        item.session.stash[_HOLDS] = _is_alone(item) and _is_alone(nextitem)
        if not item.session.stash[_HOLDS]:
            _held.close()


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
