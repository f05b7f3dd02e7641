"""The Hamming index at any width and distance, in both forms, with all that it can do."""

import copy
import pickle
import random
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
from itertools import combinations, product

import numpy as np
import pytest
from cases import each, examples
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dedup.index import HammingIndex, Match, multi_index, nested_tables, permuted_tables
from dedup.index.buckets import Buckets
from dedup.index.growing import SCANNED_UP_TO as LIMIT

MANKU = {
    "4 blocks": multi_index(64, 3, 4),
    "10 tables": permuted_tables(64, 3, 5),
    "16 tables": nested_tables(64, 3, 4),
    "20 tables": permuted_tables(64, 3, 6),
    "2 halves": multi_index(64, 3, 2),
}
SHAPES = [
    (64, 3), (64, 0), (64, 7), (64, 10), (64, 16), (32, 3), (33, 5), (50, 4), (65, 3), (100, 4),
    (128, 5), (384, 29),
]  # fmt: skip

# Bits, distance, blocks: with and without a radius, blocks that are not looked up.
GROWING = [(64, 3, 3), (64, 3, 6), (64, 7, 4), (64, 10, 5), (32, 6, 4), (100, 9, 7), (128, 3, 8)]


def flipped(fingerprint, bits):
    for bit in bits:
        fingerprint ^= 1 << bit
    return fingerprint


def near(stored, fingerprint, max_distance):
    """All matches, as an obvious loop finds them."""
    distances = ((other ^ fingerprint).bit_count() for other in stored.values())
    matches = map(Match, stored, distances)
    return sorted(match for match in matches if match.distance <= max_distance)


def found(blocks):
    return sorted(
        (int(a), int(b), int(c)) for block in blocks for a, b, c in zip(*block, strict=True)
    )


class AnyOrder(RuleBasedStateMachine):
    """Adds, removes, queries, saves and loads in any order; a dictionary is the oracle."""

    bits, max_distance, designs = 64, 3, {}

    def __init__(self):
        super().__init__()
        self.index = HammingIndex(self.bits, self.max_distance, **self.designs)
        self.chooser = random.Random(5)
        # Few values, close to one another: most are within or just beyond the distance.
        self.centres = [0, (1 << self.bits) - 1, self.chooser.getrandbits(self.bits)]
        self.stored = {}

    def some(self, seed):
        chooser = random.Random(seed)
        flips = chooser.choice([0, 1, self.max_distance, self.max_distance + 1])
        return flipped(chooser.choice(self.centres), chooser.sample(range(self.bits), flips))

    def add_many(self, fingerprints):
        pages = self.index.add_many(fingerprints)
        self.stored.update(zip(pages.tolist(), fingerprints, strict=True))

    @rule(seed=st.integers(0, 999))
    def add(self, seed):
        fingerprint = self.some(seed)
        page = self.index.add(fingerprint)
        assert page not in self.stored
        self.stored[page] = fingerprint

    @rule(seed=st.integers(0, 999), gap=st.integers(1, 9))
    def add_a_page_of_ones_own(self, seed, gap):
        fingerprint, page = self.some(seed), max(self.stored, default=0) + gap
        if page not in self.stored:
            assert self.index.add(fingerprint, page) == page
            self.stored[page] = fingerprint

    @rule(seeds=st.lists(st.integers(0, 999), max_size=9))
    def add_several(self, seeds):
        self.add_many([self.some(seed) for seed in seeds])

    @rule(seed=st.integers(0, 999))
    def check_and_add(self, seed):
        fingerprint = self.some(seed)
        matches = near(self.stored, fingerprint, self.max_distance)
        assert self.index.check_and_add(fingerprint) == (matches[0] if matches else None)
        if not matches:
            self.stored[self.index._next_page - 1] = fingerprint

    @precondition(lambda self: self.stored)
    @rule(seed=st.integers(0, 999))
    def remove(self, seed):
        page = random.Random(seed).choice(sorted(self.stored))
        self.index.remove(page)
        del self.stored[page]

    @rule(seed=st.integers(0, 999))
    def query(self, seed):
        fingerprint = self.some(seed)
        matches = near(self.stored, fingerprint, self.max_distance)
        assert self.index.query_all(fingerprint) == matches
        assert self.index.query(fingerprint) == (matches[0] if matches else None)

    @rule(seeds=st.lists(st.integers(0, 999), max_size=9))
    def query_many_and_join(self, seeds):
        fingerprints = [self.some(seed) for seed in seeds]
        matches = [near(self.stored, each, self.max_distance) for each in fingerprints]
        pages, distances = self.index.query_many(fingerprints)
        best = [each[0] if each else Match(-1, -1) for each in matches]
        assert list(map(Match, pages.tolist(), distances.tolist())) == best
        assert found(self.index.join(fingerprints)) == sorted(
            (number, match.page, match.distance)
            for number, each in enumerate(matches)
            for match in each
        )

    @rule()
    def pairs(self):
        assert found(self.index.pairs()) == sorted(
            (a, b, (self.stored[a] ^ self.stored[b]).bit_count())
            for a, b in combinations(sorted(self.stored), 2)
            if (self.stored[a] ^ self.stored[b]).bit_count() <= self.max_distance
        )

    @precondition(lambda self: self.bits <= 64)
    @rule()
    def compact(self):
        self.index.compact()

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            self.index.save(f"{folder}/index")
            self.index = HammingIndex.load(f"{folder}/index")

    @invariant()
    def nothing_is_lost(self):
        assert len(self.index) == len(self.stored)

    def teardown(self):
        assert dict(self.index) == self.stored


OFTEN = settings(
    max_examples=examples(15),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [5, LIMIT])
@pytest.mark.parametrize(("bits", "max_distance"), SHAPES)
def test_any_order_of_operations_agrees_with_the_oracle(bits, max_distance, limit, monkeypatch):
    monkeypatch.setattr("dedup.index.growing.SCANNED_UP_TO", limit)
    run(type("Machine", (AnyOrder,), {"bits": bits, "max_distance": max_distance}), OFTEN)


@pytest.mark.slow
@pytest.mark.parametrize("design", MANKU)
def test_any_order_of_operations_agrees_in_every_design(design, monkeypatch):
    monkeypatch.setattr("dedup.index.growing.SCANNED_UP_TO", 5)
    run(type("Machine", (AnyOrder,), {"designs": {"compact_design": MANKU[design]}}), OFTEN)


@pytest.mark.slow
@pytest.mark.parametrize("always_scanned", [False, True])
@pytest.mark.parametrize(("bits", "max_distance", "blocks"), GROWING)
def test_any_order_of_operations_agrees_in_every_growing_design(
    bits, max_distance, blocks, always_scanned, monkeypatch
):
    monkeypatch.setattr("dedup.index.growing.SCANNED_UP_TO", 5)
    if always_scanned:
        monkeypatch.setattr("dedup.index.design._SCANNED", 0)
    else:
        monkeypatch.setattr("dedup.index.design._GATHERED", 0)
    designs = {"design": multi_index(bits, max_distance, blocks)}
    shape = {"bits": bits, "max_distance": max_distance, "designs": designs}
    run(type("Machine", (AnyOrder,), shape), OFTEN)


def run(machine, steps):
    machine.TestCase.settings = steps
    machine.TestCase("runTest").runTest()


@pytest.mark.slow
@pytest.mark.parametrize("design", MANKU)
def test_no_difference_of_three_bits_is_missed_in_any_position(design):
    index = HammingIndex(compact_design=MANKU[design])
    base = 0x0123456789ABCDEF
    index.add(base)
    index.compact()
    planted = [flipped(base, bits) for bits in combinations(range(64), 3)]
    pages, distances = index.query_many(planted)
    assert len(planted) == 41_664
    assert (set(pages.tolist()), set(distances.tolist())) == ({0}, {3})


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "max_distance"), SHAPES)
@pytest.mark.parametrize("compacted", [False, True])
def test_planted_fingerprints_are_found_up_to_the_distance(bits, max_distance, compacted):
    chooser = random.Random(1)
    stored = [chooser.getrandbits(bits) for _ in range(LIMIT + 10)]
    index = HammingIndex(bits, max_distance)
    index.add_many(stored)
    if compacted and bits <= 64:
        index.compact()
    for distance, page in product(range(max_distance + 2), (0, LIMIT, LIMIT + 9)):
        planted = flipped(stored[page], chooser.sample(range(bits), distance))
        is_found = Match(page, distance) in index.query_all(planted)
        assert is_found == (distance <= max_distance)


def test_all_pairs_are_found_once():
    chooser = random.Random(2)
    centres = [chooser.getrandbits(64) for _ in range(40)]
    stored = dict(
        enumerate(flipped(chooser.choice(centres), [chooser.randrange(64)]) for _ in range(300))
    )
    index = HammingIndex()
    index.add_many(list(stored.values())[:100])
    index.compact()
    index.add_many(list(stored.values())[100:])
    assert found(index.pairs()) == sorted(
        (a, b, (stored[a] ^ stored[b]).bit_count())
        for a, b in combinations(stored, 2)
        if (stored[a] ^ stored[b]).bit_count() <= 3
    )


def test_check_and_add_many_compares_with_what_it_has_just_added():
    pages, distances = HammingIndex().check_and_add_many([0, 1, 255, 0])
    assert (pages.tolist(), distances.tolist()) == ([-1, 0, -1, 0], [-1, 1, -1, 0])


def test_pages_are_counted_on_from_the_highest_even_after_loading(tmp_path):
    index = HammingIndex()
    assert [index.add(1), index.add(2, page=70), index.add(4)] == [0, 70, 71]
    index.remove(71)
    index.save(tmp_path / "index")
    assert HammingIndex.load(tmp_path / "index").add(8) == 72


def test_what_is_forgotten_of_a_file_stays_in_the_file(tmp_path):
    index = HammingIndex()
    index.add_many([1, 2**40, 2**60])
    index.save(tmp_path / "index")
    loaded = HammingIndex.load(tmp_path / "index")
    loaded.remove(1)
    assert dict(loaded) == {0: 1, 2: 2**60}
    assert len(HammingIndex.load(tmp_path / "index")) == 3


def test_arrays_are_taken_as_they_are():
    index = HammingIndex(128, 3)
    rows = np.array([[1, 2], [3, 4]], np.uint64)
    assert index.add_many(rows).tolist() == [0, 1]
    assert dict(index) == {0: 1 + (2 << 64), 1: 3 + (4 << 64)}


WRONG = [
    (lambda index: index.add(2**64), "a fingerprint must be a whole number of 64 bits"),
    (lambda index: index.add(-1), "a whole number of 64 bits, got -1"),
    (lambda index: index.add(1.5), "a whole number of 64 bits, got 1.5"),
    (lambda index: index.add("1"), "a whole number of 64 bits, got '1'"),
    (lambda index: index.add(None), "a whole number of 64 bits, got None"),
    (lambda index: index.query(2**64), "a fingerprint must be a whole number of 64 bits"),
    (lambda index: index.add(1, page=-1), "a page must be a number from 0 to 4294967294, got -1"),
    (lambda index: index.add(1, page=2**32), "a page must be a number from 0 to 4294967294"),
    (lambda index: index.add_many([1, 2**64]), "a whole number of 64 bits"),
    (lambda index: index.add_many([1, 2], [7]), "2 sketches need 2 pages, got 1"),
    (lambda index: index.add_many(np.zeros(2)), "an array must be uint64 of shape (n,), got float"),
    (lambda index: index.query_many(np.zeros((2, 2), np.uint64)), "got uint64 of shape (2, 2)"),
]


@pytest.mark.parametrize(("action", "message"), WRONG)
@pytest.mark.parametrize("fillers", [2, LIMIT + 2])
def test_bad_input_is_told_and_changes_nothing(action, message, fillers):
    index = HammingIndex()
    index.add_many(list(range(0, fillers * 2**20, 2**20)))
    before = dict(index)
    with pytest.raises(ValueError, match=re.escape(message)):
        action(index)
    assert (dict(index), index.add(5)) == (before, fillers)


@each(
    ("arguments", "message"),
    [
        ((31,), "bits must be from 32 to 384, got 31"),
        ((385,), "bits must be from 32 to 384, got 385"),
        ((64, -1), "max_distance must be from 0 to 63, got -1"),
        ((64, 64), "max_distance must be from 0 to 63, got 64"),
        ((64, "3"), "max_distance must be from 0 to 63, got '3'"),
    ],
)
def test_an_index_of_wrong_shape_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        HammingIndex(*arguments)


@each(
    ("arguments", "message"),
    [
        ({"compact_design": MANKU["10 tables"]}, "compact_design must be for 64 bits and distance"),
        ({"design": multi_index(64, 3, 4)}, "design must be for 64 bits and distance 4, got one"),
        ({"design": permuted_tables(64, 4, 6)}, "one segment of up to 24 bits, got permuted 6"),
        ({"design": multi_index(64, 4, 2)}, "one segment of up to 24 bits, got multi-index 2"),
        ({"expected_size": -1}, "expected_size must be 0 or more, got -1"),
    ],
)
def test_a_design_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        HammingIndex(64, 4, **arguments)


def test_designs_are_kept_in_the_file(tmp_path):
    index = HammingIndex(design=multi_index(64, 3, 6), compact_design=permuted_tables(64, 3, 5))
    index.save(tmp_path / "index")
    loaded = HammingIndex.load(tmp_path / "index")
    assert (loaded.design, loaded.compact_design) == (index.design, index.compact_design)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("compacted", [False, True])
def test_a_fingerprint_of_many_pages_stands_once_in_the_tables(bits, compacted):
    index = HammingIndex(bits, 3)
    index.add_many([random.Random(page).getrandbits(bits) for page in range(LIMIT)])
    for _ in range(3 * LIMIT):
        index.add(7)
    if compacted and bits == 64:
        index.compact()
    assert (len(index), index.query(5)) == (4 * LIMIT, Match(LIMIT, 1))
    assert index.query_all(5) == [Match(LIMIT + number, 1) for number in range(3 * LIMIT)]
    if not (compacted and bits == 64):
        tables = index._stored._blocks._tables
        assert {len(table.buckets.rows()) for table in tables} == {LIMIT + 1}
    index.remove(LIMIT)
    index.remove(LIMIT + 2)
    assert index.query(5) == Match(LIMIT + 1, 1)
    index.remove(LIMIT + 1)
    assert (len(index), index.query(5)) == (4 * LIMIT - 3, Match(LIMIT + 3, 1))


@pytest.mark.parametrize("bits", [64, 128])
def test_the_lowest_page_of_a_fingerprint_is_the_oldest_in_whatever_order_they_come(bits):
    index = HammingIndex(bits, 3)
    fillers = [random.Random(page).getrandbits(bits) for page in range(LIMIT)]
    index.add_many([*fillers, 7, 7], [*range(100, LIMIT + 100), 60, 50])
    assert index.query(7).page == 50
    index.add(7, page=70)
    assert index.query(7).page == 50
    index.add(7, page=40)
    assert index.query(7).page == 40
    index.remove(40)
    assert [match.page for match in index.query_all(7)] == [50, 60, 70]


@pytest.mark.slow
@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("failing", range(6))
def test_memory_that_runs_out_while_adding_leaves_the_index_as_it_was(bits, failing, monkeypatch):
    index = HammingIndex(bits, 3)
    index.add_many([random.Random(page).getrandbits(bits) for page in range(LIMIT + 1)])
    before = dict(index)
    calls = iter(range(99))
    append = Buckets.append

    def append_or_fail(self, *row):
        if next(calls) == failing:
            raise MemoryError
        append(self, *row)

    monkeypatch.setattr(Buckets, "append", append_or_fail)
    if failing < len(index._stored._blocks._tables):
        with pytest.raises(MemoryError):
            index.add(7)
        assert (dict(index), index.query(7), len(index)) == (before, None, LIMIT + 1)
    monkeypatch.setattr(Buckets, "append", append)
    page = index.add(8)
    assert (index.query(8), len(index)) == (Match(page, 0), LIMIT + 2)
    index.remove(page)
    assert dict(index) == before


def test_memory_that_runs_out_when_tables_are_made_leaves_the_index_as_it_was(monkeypatch):
    index = HammingIndex()
    index.add_many([random.Random(page).getrandbits(64) for page in range(LIMIT)])
    fill = Buckets.fill
    monkeypatch.setattr(Buckets, "fill", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        index.add(7)
    assert (len(index), index.query(7)) == (LIMIT, None)
    monkeypatch.setattr(Buckets, "fill", fill)
    assert index.add(7) == LIMIT
    assert index.query_all(7) == [Match(LIMIT, 0)]


def test_numbers_of_numpy_and_generators_are_taken(tmp_path):
    index = HammingIndex(np.int64(64), np.int64(3))
    assert index.add_many((n for n in (1, 2**20)), (n for n in (3, 4))).tolist() == [3, 4]
    index.save(tmp_path / "index")
    assert dict(HammingIndex.load(tmp_path / "index")) == {3: 1, 4: 2**20}


def test_a_saved_file_keeps_its_mode_and_its_link(saved, tmp_path):
    saved.chmod(0o640)
    (tmp_path / "link").symlink_to(saved)
    HammingIndex().save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert saved.stat().st_mode & 0o777 == 0o640
    assert len(HammingIndex.load(saved)) == 0


def test_an_unknown_page_is_not_removed():
    index = HammingIndex()
    index.add(1)
    with pytest.raises(KeyError, match="page 7 is not stored"):
        index.remove(7)
    assert len(index) == 1


def test_wide_fingerprints_have_no_compact_form():
    with pytest.raises(ValueError, match="the compact form is for up to 64 bits, got 384"):
        HammingIndex(384, 3).compact()


@pytest.fixture
def saved(tmp_path):
    index = HammingIndex()
    index.add_many([random.Random(page).getrandbits(64) for page in range(500)])
    index.save(tmp_path / "index")
    return tmp_path / "index"


@pytest.mark.slow
@each("seed", range(150))
def test_a_damaged_file_is_told_wherever_it_is_damaged(saved, seed):
    whole = saved.read_bytes()
    damaged = bytearray(whole)
    before = dict(HammingIndex.load(saved))
    chooser = random.Random(seed)
    # Half of the damage to the beginning, where each bit means something.
    place = chooser.randrange(len(whole) if seed % 2 else 400)
    damaged[place] ^= 1 << chooser.randrange(8)
    saved.write_bytes(damaged)
    try:
        after = dict(HammingIndex.load(saved))
    except ValueError as error:
        assert str(saved) in str(error)  # noqa: PT017  # damage between arrays does no harm
    else:
        assert after == before
    finally:
        saved.write_bytes(whole)


@pytest.mark.parametrize("length", [0, 5, 21, 22, 200, 1000, 5000])
def test_a_torn_file_is_told(saved, length):
    saved.write_bytes(saved.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"is damaged|is not an index file"):
        HammingIndex.load(saved)


def test_a_foreign_file_is_told(tmp_path):
    (tmp_path / "text").write_text("something else entirely\n" * 10)
    with pytest.raises(ValueError, match="is not an index file of this version"):
        HammingIndex.load(tmp_path / "text")


def test_a_save_that_fails_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()
    index = HammingIndex.load(saved)
    index.add(1)
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        index.save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["index"]


SAVING = """
import sys
from dedup.index import HammingIndex
path, version, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
index = HammingIndex()
index.add_many([version] * 10 + [(page << 32) + version for page in range(1, 50_000)])
print("begins", flush=True)
for _ in range(times):
    index.save(path)
"""


def saving(path, version, times):
    """Start a process that saves an index over and over; return when it begins."""
    arguments = [sys.executable, "-c", SAVING, str(path), str(version), str(times)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    return process


def version_of(path):
    index = HammingIndex.load(path)
    [version] = {fingerprint % 2**32 for _, fingerprint in index}
    assert len(index) == 50_009
    return version


@pytest.mark.slow
def test_several_processes_may_save_and_load_one_file_at_once(tmp_path):
    path = tmp_path / "index"
    processes = [saving(path, version, 40) for version in (7, 8)]
    while not path.exists():
        assert any(process.poll() is None for process in processes)
    seen = []
    while any(process.poll() is None for process in processes):
        seen.append(version_of(path))
    for process in processes:
        assert process.wait(60) == 0
        process.stdout.close()
    assert set(seen) <= {7, 8}
    assert len(seen) > 5
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_saves_leaves_a_whole_file(tmp_path):
    path = tmp_path / "index"
    with saving(path, 1, 1) as process:
        assert process.wait(60) == 0
    chooser = random.Random(4)
    for version in range(2, 5):
        with saving(path, version, 1000) as process:
            time.sleep(chooser.uniform(0, 0.1))
            process.kill()
        assert version_of(path) in range(1, version + 1)


def test_an_empty_index_is_saved_and_loaded(tmp_path):
    HammingIndex(128, 5).save(tmp_path / "wide")
    HammingIndex().save(tmp_path / "narrow")
    assert HammingIndex.load(tmp_path / "wide").query(1) is None
    assert HammingIndex.load(tmp_path / "narrow").query(1) is None


def test_no_number_that_is_no_page_is_forgotten():
    index = HammingIndex()
    index.add_many([1, 2**20, 2**40])
    index.compact()
    index.remove(0)
    for page in (0, 2**32 - 1, -1, None, True, "1"):
        with pytest.raises(KeyError):
            index.remove(page)
    assert len(index) == 2


@pytest.mark.parametrize("size", [10, LIMIT + 10])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_a_copy_grows_on_its_own(copied, size):
    index = HammingIndex()
    index.add_many([random.Random(page).getrandbits(64) for page in range(size)])
    other = copied(index)
    for _ in range(LIMIT // 4):
        other.add(7)
    assert (len(index), len(other)) == (size, size + LIMIT // 4)
    assert other.query(7) == Match(size, 0)


def test_the_last_page_number_is_followed_by_none():
    index = HammingIndex()
    index.add(1, page=2**32 - 2)
    with pytest.raises(ValueError, match="all page numbers are in use"):
        index.add(2)
    assert index.add_many([]).tolist() == []
    assert len(index) == 1


@pytest.mark.slow
@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize(
    "fingerprints",
    [[0] * 20_000, [page << 16 for page in range(20_000)]],
    ids=["all equal", "one block equal"],
)
def test_memory_stays_bounded_however_skewed(fingerprints, compacted):
    index = HammingIndex()
    index.add_many(fingerprints)
    if compacted:
        index.compact()
    tracemalloc.start()
    index.query_many(fingerprints[:1000])
    index.query(1)
    for number, _ in enumerate(index.pairs()):
        if number == 20:
            break
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150_000_000
