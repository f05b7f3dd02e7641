"""What matches in runs that share a key is linked, and nothing else, however long the runs are."""

from itertools import combinations

import judged
import numpy as np
import pytest
from cases import each, examples

from dedup.methods import METHODS, FingerprintMethod
from dedup.methods.base import Components
from dedup.spark import matches
from dedup.spark.matches import connect, find_links


def runs_of(method, sketches):
    """Return keys, nodes and payloads of *sketches*, as tasks have them."""
    keys, counts, payloads = method.keys_of_many(sketches)
    owners = np.repeat(np.arange(len(sketches)), counts)
    order = np.argsort(keys, kind="stable")
    return keys[order], 10 * owners[order], [payloads[owner] for owner in owners[order]]


def linked_one_by_one(method, keys, nodes, payloads):
    pairs = [
        (nodes[one], nodes[other])
        for one, other in combinations(range(len(keys)), 2)
        if keys[one] == keys[other]
        and any(
            method.distances_of_pairs([payloads[a]], [payloads[b]])[0] <= method.max_distance
            for a, b in [(one, other), (other, one)][: 1 + method.finds_parts]
        )
    ]
    return as_sets(*connect(*np.array(pairs, np.int64).reshape(-1, 2).T))


def as_sets(nodes, roots):
    found = {}
    for node, root in zip(nodes.tolist(), roots.tolist(), strict=True):
        found.setdefault(root, {root}).add(node)
    return {frozenset(members) for members in found.values() if len(members) > 1}


@pytest.mark.slow
@each("name", METHODS)
def test_whatever_matches_is_connected(name, monkeypatch):
    """Runs of more than a few are long here, and are soon split."""
    method = METHODS[name]()
    monkeypatch.setattr(matches, "_SHORT", 6)
    monkeypatch.setattr(matches, "_TRIED", 2)
    for seed in range(examples(15)):
        make = judged.hot if seed == 0 else judged.records
        records = make(method, seed)[:120]
        runs = runs_of(method, [record.sketch for record in records if record.sketch])
        nodes, roots = find_links(method, *runs)
        assert (nodes > roots).all()
        assert as_sets(nodes, roots) == linked_one_by_one(method, *runs), seed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["simhash", "minhash", "verified", "segments"])
def test_of_what_shares_a_key_and_little_else_few_pairs_are_compared(name, monkeypatch):
    """So it is of copies of one page: of 3,000, each is compared with a few at most."""
    method, size = METHODS[name](), 3_000
    chooser = np.random.default_rng(1)
    compared, count = [], type(method).distances_of_pairs

    def counted(self, ones, others):
        compared.append(len(ones))
        return count(self, ones, others)

    monkeypatch.setattr(type(method), "distances_of_pairs", counted)
    for kinds, links in ((size, 0), (40, size - 40)):
        payloads = hot_payloads(method, chooser, kinds) * (size // kinds)
        nodes, roots = find_links(method, np.zeros(size, np.uint64), np.arange(size), payloads)
        assert len(nodes) == links
        assert len(set(roots.tolist())) == (40 if links else 0)
    assert sum(compared) < 150 * size


def hot_payloads(method, chooser, size):
    """Return payloads of which no two match."""
    if isinstance(method, FingerprintMethod):
        return [row.tobytes() for row in chooser.integers(0, 256, (size, 8), np.uint8)]
    if method.name == "verified":
        head = np.array([200, 0, *[2**16 - 1] * 16], "<u2").tobytes()
        return [head + row.tobytes() for row in chooser.integers(0, 256, (size, 128), np.uint8)]
    if method.name == "minhash":
        shape = size, method.bands * method.rows
        return [row.tobytes() for row in chooser.integers(0, 2**32, shape, np.uint32)]
    rows = chooser.integers(0, 2**63, (size, 20), np.uint64)
    rows[:, :5] = np.arange(5)
    return [np.sort(row).astype("<u8").tobytes() for row in rows]


def test_nothing_to_compare_has_no_links():
    method = METHODS["simhash"]()
    links = find_links(method, np.array([], np.uint64), np.array([], np.int64), [])
    assert [len(part) for part in links] == [0, 0]


def test_of_components_that_are_numbers_the_lowest_bits_tell_most_apart():
    values = np.array([[1, 2, 3], [1, 2, 19], [1, 5, 6]], np.uint32)
    planes = matches._planes(Components(values, 0, are_bits=False))
    assert planes.shape == (4, 1, 3)
    assert (planes[..., 0] == planes[..., 1]).all()  # 3 and 19 agree in 4 bits
    assert (planes[..., 0] != planes[..., 2]).any()
