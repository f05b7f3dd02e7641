"""What pages and people do to worker processes, and what becomes of it. Needs /proc."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import wait
from contextlib import contextmanager
from pathlib import Path

import bad_extractors
import pytest
from own_process import run_python, run_script
from processes import children, ids_of_workers, is_running, seconds_until

from dedup.methods import SimHash
from dedup.page import PageReader
from dedup.workers import ReadError, WorkerPool

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

# Longer than any test takes; only a fault makes one wait for so long.
LIMIT = 20


@contextmanager
def started(extractor, **options):
    pool = WorkerPool(PageReader(extractor, SimHash()), **options)
    pool.start()
    try:
        yield pool
    finally:
        pool.close()


@pytest.fixture(scope="module")
def pool():
    """A pool of one worker whose extractor does what the page says, for at most half a second."""
    with started(bad_extractors.misbehaving, page_timeout=0.5) as pool:
        yield pool


def read(pool, text):
    """The text of the page, or the cause for which it was not read."""
    try:
        return pool.submit(PageReader.read_html, text).result(LIMIT).text
    except ReadError as error:
        return f"({error.cause})"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "outcome"),
    [
        ("return-unpickled-with-error", "(crash)"),
        ("return-unpicklable", "(crash)"),
        ("leave", "(crash)"),
        ("interrupt", "(crash)"),
        ("be-killed", "(crash)"),
        ("hang-deaf", "(timeout)"),
        ("print", "printed"),
        ("read-stdin", "stdin: '' b''"),
        ("fork-and-hang", "(timeout)"),
        ("fork-and-crash", "(timeout)"),
    ],
)
def test_whatever_a_page_does_the_next_one_is_read(pool, page, outcome):
    assert [read(pool, page), read(pool, "next")] == [outcome, "next"]


@pytest.mark.slow
def test_the_message_tells_how_the_worker_ended(pool):
    errors = [
        pool.submit(PageReader.read_html, page).exception(LIMIT)
        for page in ("exit", "crash", "hang")
    ]
    assert list(map(str, errors)) == [
        "worker died (exit status 3)",
        f"worker died (exit status {-signal.SIGSEGV})",
        "not read within 0.5 seconds",
    ]


@pytest.mark.slow
def test_nothing_that_a_page_prints_reaches_the_crawl(capfd):
    with started(bad_extractors.misbehaving) as pool:
        assert read(pool, "print") == "printed"
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_hanging_page_holds_up_its_own_worker_only():
    with started(bad_extractors.misbehaving, workers=2, page_timeout=LIMIT) as pool:
        hanging = pool.submit(PageReader.read_html, "hang")
        assert [read(pool, f"page {i}") for i in range(20)] == [f"page {i}" for i in range(20)]
        assert not hanging.done()


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 5_000_000])
def test_a_stopped_worker_is_killed_at_the_time_limit(pool, size):
    read(pool, "first")
    stopped = ids_of_workers(pool)[0]
    os.kill(stopped, signal.SIGSTOP)
    # A large page does not fit into the pipe, so that even writing it blocks.
    assert [read(pool, "x" * size), read(pool, "next")] == ["(timeout)", "next"]
    assert not is_running(stopped)


@pytest.mark.slow
def test_a_page_is_not_blamed_for_a_worker_that_dies_of_something_else():
    with started(bad_extractors.slowly) as pool:
        read(pool, "first")
        future = pool.submit(PageReader.read_html, "second")
        time.sleep(0.1)
        os.kill(ids_of_workers(pool)[0], signal.SIGKILL)
        assert future.result(LIMIT).text == "second"


@pytest.mark.slow
def test_a_worker_is_replaced_after_so_many_pages():
    with started(bad_extractors.with_process_id, recycle_after=2) as pool:
        ids = [read(pool, "page") for _ in range(6)]
    assert [ids[0], ids[2], ids[4]] == [ids[1], ids[3], ids[5]]
    assert len(set(ids)) == 3
    assert not any(map(is_running, ids))


@pytest.mark.slow
def test_a_cancelled_page_does_not_end_the_worker():
    with started(bad_extractors.slowly) as pool:
        read(pool, "first")
        pool.submit(PageReader.read_html, "busy")
        pool.submit(PageReader.read_html, "cancelled").cancel()
        assert pool.submit(PageReader.read_html, "next").result(LIMIT).text == "next"


@pytest.mark.parametrize(
    "extractor", [lambda html: html, sys.stdout.write], ids=["lambda", "method of a file"]
)
def test_an_extractor_that_cannot_be_sent_is_refused(extractor):
    with pytest.raises(ValueError, match="cannot be sent to a worker process"):
        WorkerPool(PageReader(extractor, SimHash()))


@pytest.mark.slow
def test_an_extractor_that_the_worker_cannot_import_is_told(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def extract(html): return html")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        from only_here import extract
    with started(extract) as pool:
        errors = [pool.submit(PageReader.read_html, "page").exception(LIMIT) for _ in range(5)]
    assert {error.cause for error in errors} == {"start"}
    assert "No module named 'only_here'" in str(errors[0])


def test_what_workers_warn_of_at_their_start_is_logged_once(caplog):
    with started(bad_extractors.with_a_warning, workers=2, recycle_after=1) as pool:
        assert [read(pool, str(number)) for number in range(3)] == ["0", "1", "2"]
    assert caplog.messages == ["<html><body><p>A sample page.</p> and 100 %"]


READING = """
from dedup.extraction import trafilatura
from dedup.methods import SimHash
from dedup.page import PageReader
from dedup.workers import WorkerPool

pool = WorkerPool(PageReader(trafilatura, SimHash()))
pool.start()
print(pool.submit(PageReader.read_field, "some words").result(60).text)
pool.close()
"""


@pytest.mark.slow
def test_modules_beside_the_main_script_are_not_run_again_by_the_worker(tmp_path):
    script = tmp_path / "crawl.py"
    script.write_text(f"print('main script runs')\n{READING}")
    run = run_python(script)
    assert (run.stdout, run.stderr) == ("main script runs\nsome words\n", "")


class TestClosing:
    @pytest.mark.slow
    def test_pages_not_read_fail_at_once(self):
        with started(bad_extractors.misbehaving, workers=2) as pool:
            futures = [pool.submit(PageReader.read_html, "hang") for _ in range(50)]
            time.sleep(0.5)
            start = time.monotonic()
            pool.close()
            assert time.monotonic() - start < LIMIT
        assert wait(futures, timeout=0).not_done == set()
        assert {future.exception().cause for future in futures} == {"closed"}

    @pytest.mark.slow
    def test_a_page_that_waits_for_a_new_worker_fails_with_the_same_cause(self):
        with started(bad_extractors.well, recycle_after=1) as pool:
            read(pool, "first")
            future = pool.submit(PageReader.read_html, "second")
            time.sleep(0.05)  # the next worker has been started, and is not ready yet
        assert future.exception(0).cause == "closed"

    @pytest.mark.slow
    def test_pages_submitted_afterwards_fail(self):
        with started(bad_extractors.well) as pool:
            assert read(pool, "page") == "page"
        assert [read(pool, "page"), read(pool, "page")] == ["(closed)", "(closed)"]

    @pytest.mark.parametrize(
        "seconds", [0, *(pytest.param(later, marks=pytest.mark.slow) for later in (0.02, 0.1, 0.3))]
    )
    def test_no_process_is_left_of_a_pool_closed_while_it_starts(self, seconds):
        before = children()
        with started(bad_extractors.slow_from_the_start, workers=2) as pool:
            future = pool.submit(PageReader.read_html, "page")
            time.sleep(seconds)
            start = time.monotonic()
        assert time.monotonic() - start < LIMIT
        assert children() - before == set()
        assert future.exception(0).cause == "closed"

    @pytest.mark.slow
    @pytest.mark.parametrize("page", ["page", "hang", "hang-deaf", "crash"])
    def test_no_process_is_left_of_a_pool_that_read_pages(self, page):
        before = children()
        with started(bad_extractors.misbehaving, workers=2) as pool:
            read(pool, "first")
            pool.submit(PageReader.read_html, page)
            time.sleep(0.1)
            seconds_until(lambda: children() - before >= set(ids_of_workers(pool)), LIMIT)
        assert children() - before == set()

    @pytest.mark.slow
    def test_no_thread_and_no_open_file_is_left(self):
        def open_files():
            return set(os.listdir("/proc/self/fd"))

        def threads():
            return set(os.listdir("/proc/self/task"))

        before, threads_before = open_files(), threads()
        with started(bad_extractors.misbehaving, workers=2, page_timeout=1) as pool:
            assert [read(pool, page) for page in ("page", "crash")] == ["page", "(crash)"]
        assert open_files() <= before
        seconds_until(lambda: threads() <= threads_before, LIMIT)


@contextmanager
def parent(*arguments):
    """The script parent.py in a session of its own, and the id of its worker."""
    process = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("parent.py"), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    worker = int(process.stdout.readline())
    try:
        yield process, worker
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        if is_running(worker):
            os.kill(worker, signal.SIGKILL)


class TestWhenTheCrawlDies:
    @pytest.mark.slow
    def test_an_idle_worker_ends_at_once(self):
        with parent("misbehaving", "30", "page") as (process, worker):
            assert process.stdout.readline() == "page\n"
            assert is_running(worker)
            process.kill()
            seconds_until(lambda: not is_running(worker), LIMIT)

    @pytest.mark.slow
    @pytest.mark.parametrize("page", ["hang", "hang-deaf"])
    def test_a_worker_at_a_hanging_page_ends_soon_after_its_time_limit(self, page):
        with parent("misbehaving", "0.5", page) as (process, worker):
            process.kill()
            seconds_until(lambda: not is_running(worker), LIMIT)

    @pytest.mark.slow
    @pytest.mark.parametrize("whom", ["process group", "worker"])
    def test_an_interrupt_does_not_disturb_the_page(self, whom):
        with parent("slowly", "30", "page") as (process, worker):
            if whom == "worker":
                os.kill(worker, signal.SIGINT)
            else:
                os.killpg(process.pid, signal.SIGINT)
                assert process.stdout.readline() == "interrupted\n"
            assert process.stdout.readline() == "page\n"
            assert is_running(worker)
            process.stdin.close()
            seconds_until(lambda: not is_running(worker), LIMIT)
            assert process.wait(LIMIT) == 0


@pytest.mark.slow
def test_what_start_up_files_print_does_not_disturb(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("print('coverage is on')\nprint('x' * 100_000)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with started(bad_extractors.well) as pool:
        assert read(pool, "well done") == "done"


def test_a_pool_that_was_not_started_reads_nothing():
    pool = WorkerPool(PageReader(bad_extractors.well, SimHash()))
    assert read(pool, "page") == "(start)"


@pytest.mark.slow
def test_a_worker_starts_without_standard_streams():
    assert run_script(f"import os; os.close(2); os.close(0)\n{READING}").stdout == "some words\n"


@pytest.mark.slow
def test_starting_is_tried_again_after_a_while(monkeypatch):
    monkeypatch.setattr("dedup.workers.pool._SECONDS_BETWEEN_STARTS", 0.5)
    python = sys.executable
    monkeypatch.setattr("sys.executable", "/no/such/python")
    with started(bad_extractors.well) as pool:
        assert [read(pool, "page") for _ in range(5)] == ["(start)"] * 5
        monkeypatch.setattr("sys.executable", python)
        time.sleep(0.6)
        assert read(pool, "well done") == "done"


@pytest.mark.slow
def test_a_crawler_that_has_grown_large_has_workers_all_the_same():
    done = run_script(f"index = bytearray(b'x') * 1_200_000_000\n{READING}")
    assert (done.stdout, done.stderr) == ("some words\n", "")
