"""How much memory a scan is expected to take, before it reads."""

import gzip
import json
import os
import subprocess
import sys

import pytest
from collections_on_disk import NAMES, write
from texts import article

from dedup.extraction import trafilatura
from dedup.methods import METHODS, Exact, SimHash
from dedup.records import Fields, format_of
from dedup.scan import RecordReader
from dedup.scan.memory import expected_memory, memory_of_machine


def expected(path, method, **options):
    return expected_memory(
        RecordReader(format_of([path])([path], Fields()), method, trafilatura),
        workers=options.pop("workers", 1),
        **options,
    )


@pytest.mark.parametrize("suffix", NAMES.values(), ids=NAMES)
def test_few_records_are_counted(tmp_path, suffix):
    path = write(tmp_path / suffix, [article(1), article(2)])
    assert expected(path, SimHash()).records == 2


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_many_records_are_estimated_by_the_sizes_of_the_files(tmp_path, suffix):
    path = tmp_path / f"texts{suffix}"
    opened = gzip.open if suffix.endswith(".gz") else open
    with opened(path, "wt") as file:
        for number in range(8_000):
            file.write(json.dumps({"text": f"{number} {article(number % 50, 200)}"}) + "\n")
    assert expected(path, SimHash()).records == pytest.approx(8_000, rel=0.3)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_an_estimate_that_grows(tmp_path, name):
    path = write(tmp_path / "texts.jsonl", [article(number) for number in range(9)])
    method = METHODS[name]()
    few = expected(path, method)
    assert 9 * 40 < few.growth < 9 * 20_000
    assert expected(path, method, is_sorted=True).growth > few.growth
    assert expected(path, method, with_keys=True).growth > few.growth
    assert expected(path, method, workers=2).nbytes > few.nbytes


class Failing(Exact):
    name = "failing"

    def sketches(self, documents):
        raise KeyError("anything")


def test_a_method_that_raises_does_no_harm(tmp_path):
    path = write(tmp_path / "texts.jsonl", [article(1)])
    assert expected(path, Failing()).records == 1


def test_a_machine_has_memory():
    assert memory_of_machine() > 1 << 28


SCAN = """
import sys
from pathlib import Path
from dedup.cli import main
main(sys.argv[1:])
[most] = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
print(int(most.split()[1]) * 1024)
"""


@pytest.mark.slow
def test_what_is_said_beforehand_is_about_what_it_takes(tmp_path):
    path = tmp_path / "texts.jsonl"
    with path.open("w") as file:
        for number in range(25_000):
            words = " ".join(f"{number:05}w{n}" for n in range(20))
            file.write(json.dumps({"text": words}) + "\n")
    run = subprocess.run(
        [
            sys.executable, "-c", SCAN, "scan", path, "-o", tmp_path / "new.jsonl", "--workers",
            "1", "--method", "minhash", "--json", "-",
        ],
        capture_output=True, text=True, check=True, env=os.environ,
    )  # fmt: skip
    figures, _, most = run.stdout.strip().rpartition("\n")
    assert json.loads(figures)["records"] == 25_000
    said = run.stderr.split()
    assert (said[0], said[2], " ".join(said[3:])) == (
        "about", "MB", "of memory for some 25,000 records (an estimate)"
    )  # fmt: skip
    assert float(said[1]) * 1e6 == pytest.approx(int(most), rel=0.3)
