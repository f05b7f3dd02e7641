"""The designs of the papers, and that each finds every pair."""

import random
from itertools import combinations
from math import comb

import numpy as np
import pytest
from cases import each

from dedup.index import HammingIndex, multi_index, nested_tables, permuted_tables
from dedup.index.compact import CompactIndex, permute, restore
from dedup.index.design import growing_form_bytes, segments_in_order
from dedup.methods.bit_runs import split_bits

EVERY = [
    multi_index(64, 3, 4),
    multi_index(64, 7, 4),
    multi_index(64, 10, 4),
    multi_index(64, 3, 2),
    permuted_tables(64, 3, 5),
    permuted_tables(64, 3, 6),
    nested_tables(64, 3, 4),
    multi_index(384, 12, 13),
    multi_index(384, 29, 24),
    multi_index(50, 4, 4),
]


def test_mankus_designs_have_the_tables_and_prefixes_of_the_paper():
    four, ten, sixteen, twenty = (
        multi_index(64, 3, 4),
        permuted_tables(64, 3, 5),
        nested_tables(64, 3, 4),
        permuted_tables(64, 3, 6),
    )
    assert [len(design.tables) for design in (four, ten, sixteen, twenty)] == [4, 10, 16, 20]
    assert [
        sorted({table.key_bits for table in design.tables})
        for design in (four, ten, sixteen, twenty)
    ] == [[16], [25, 26], [28], [31, 32, 33]]
    assert round(4 * 2**34 / 2**16) == round(four.expected_candidates(2**34)) == 4 * 262_144


def test_multi_index_probes_are_those_of_the_paper():
    probes = [multi_index(64, distance, 4).probes for distance in (3, 4, 6, 7, 10)]
    assert probes == [4, 20, 52, 68, 428]
    assert round(multi_index(64, 7, 4).expected_candidates(10**6)) == 1038


def test_13_pieces_of_384_bits_are_seven_of_30_and_six_of_29():
    assert (
        sorted(table.key_bits for table in multi_index(384, 12, 13).tables) == [29] * 6 + [30] * 7
    )


@pytest.mark.slow
@pytest.mark.parametrize("design", EVERY, ids=lambda design: f"{design.name} of {design.bits}")
def test_every_way_to_spread_the_differences_over_the_segments_is_found(design):
    """Pigeonhole, by looking: some table sees no more of the flipped bits than its radius."""
    chooser = np.random.default_rng(0)
    for _ in range(3000):
        count = chooser.integers(0, design.max_distance + 1)
        flipped = set(chooser.choice(design.bits, count, replace=False).tolist())
        assert any(
            sum(bit in flipped for s, w in table.segments for bit in range(s, s + w))
            <= table.radius
            for table in design.tables
        )


def test_every_triple_of_blocks_leaves_a_table_untouched():
    for design in (permuted_tables(64, 3, 5), permuted_tables(64, 3, 6), nested_tables(64, 3, 4)):
        for flipped in combinations(range(2, 64, 5), 3):
            assert any(
                not any(s <= bit < s + w for s, w in table.segments for bit in flipped)
                for table in design.tables
            )


@each("design", EVERY)
def test_segments_cover_every_bit_once(design):
    for table in design.tables:
        bits = [b for s, w in segments_in_order(table, design.bits) for b in range(s, s + w)]
        assert sorted(bits) == list(range(design.bits))


def test_permuting_is_undone():
    rows = np.random.default_rng(1).integers(0, 2**64, 1000, dtype=np.uint64)
    for design in EVERY[:7]:
        for table in design.tables:
            assert (restore(permute(rows, table, 64), table, 64) == rows).all()


def test_segments_differ_by_one_bit_at_most():
    assert split_bits(0, 64, 5) == [(0, 13), (13, 13), (26, 13), (39, 13), (52, 12)]


def test_the_naive_probes_of_the_articles():
    assert sum(comb(64, flips) for flips in range(4)) == 43_745


def test_an_index_describes_its_designs():
    assert HammingIndex().describe(10**6).splitlines() == [
        "growing, multi-index 4: 4 tables of 16 prefix bits, 4 probes, 61.0 candidates expected "
        "among 1,000,000, about 89 bytes each",
        "compact, multi-index 2: 2 tables of 32 prefix bits, 66 probes, 0.0 candidates expected "
        "among 1,000,000, 20 bytes each",
    ]
    assert HammingIndex(64, 40).describe(10).splitlines() == [
        "growing, linear scan: compares all 10, about 15 bytes each",
        "compact, linear scan: compares all 10, 12 bytes each",
    ]
    assert len(HammingIndex(384, 29).describe(10).splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "max_distance"), [(64, 3), (64, 6), (128, 3)])
def test_the_bytes_that_are_told_are_those_that_it_takes(bits, max_distance):
    size = 60_000
    index = HammingIndex(bits, max_distance)
    index.add_many([random.Random(number).getrandbits(bits) for number in range(100)])
    for number in range(100, size):
        index.add(random.Random(number).getrandbits(bits))
    told = growing_form_bytes(index.design, size)
    assert index.nbytes / size == pytest.approx(told, rel=0.25)
    if bits == 64:
        index.compact()
        told = CompactIndex.bytes_per_fingerprint(index.compact_design)
        assert index.nbytes / size == pytest.approx(told, rel=0.001)


def test_the_design_follows_the_bits_the_distance_and_the_expected_size():
    def chosen(*shape, **expected):
        return HammingIndex(*shape, **expected).design.name

    assert [chosen(64, distance) for distance in (0, 3, 5, 7, 10, 40)] == [
        "multi-index 4",
        "multi-index 4",
        "multi-index 6",
        "multi-index 4",
        "multi-index 4",
        "linear scan",
    ]
    assert chosen(64, 12, expected_size=10**5) == "linear scan"
    assert chosen(64, 12, expected_size=10**8) == "multi-index 3"
    # Whatever is expected, more may come.
    assert chosen(64, 3, expected_size=0) == "multi-index 4"


@each(
    ("make", "message"),
    [
        (lambda: nested_tables(64, 7, 4), r"more than max_distance \(7\) and at most 64, got 4"),
        (lambda: permuted_tables(64, 3, 3), r"more than max_distance \(3\) and at most 64, got 3"),
        (lambda: multi_index(64, 3, 0), "blocks must be from 1 to 64, got 0"),
        (lambda: multi_index(64, 3, 65), "blocks must be from 1 to 64, got 65"),
    ],
)
def test_a_design_that_would_miss_pairs_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
