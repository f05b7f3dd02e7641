"""What matches in runs that share a key is linked, however long the runs are."""

from itertools import combinations, groupby

import judged
import numpy as np
import pytest
from cases import each, examples

from dedup.methods import METHODS, FingerprintMethod
from dedup.spark import matches
from dedup.spark.matches import connect, find_links


def runs_of(method, sketches):
    """Return keys, nodes and payloads of *sketches*, as tasks have them."""
    keys, counts, payloads = method.keys_of_many(sketches)
    owners = np.repeat(np.arange(len(sketches)), counts)
    order = np.argsort(keys, kind="stable")
    return keys[order], 10 * owners[order], [payloads[owner] for owner in owners[order]]


def linked_one_by_one(method, keys, nodes, payloads):
    pairs = {
        (nodes[one], nodes[other]): (payloads[one], payloads[other])
        for _, run in groupby(range(len(keys)), keys.item)
        for one, other in combinations(run, 2)
    }
    if method.finds_parts:
        pairs |= {(other, one): (b, a) for (one, other), (a, b) in pairs.items()}
    distances = method.distances_of_pairs(*map(list, zip(*pairs.values(), strict=True)))
    near = [pair for pair, d in zip(pairs, distances, strict=True) if d <= method.max_distance]
    return as_sets(*connect(*np.array(near, np.int64).reshape(-1, 2).T))


def as_sets(nodes, roots):
    found = {}
    for node, root in zip(nodes.tolist(), roots.tolist(), strict=True):
        found.setdefault(root, {root}).add(node)
    return {frozenset(members) for members in found.values() if len(members) > 1}


@pytest.mark.slow
@each("name", METHODS)
def test_whatever_matches_is_connected(name, monkeypatch):
    """And nothing else, but for what is left of long runs, which begin with a few here."""
    method = METHODS[name]()
    for seed in range(examples(15)):
        make = judged.hot if seed == 0 else judged.records
        records = make(method, seed)[:120]
        runs = runs_of(method, [record.sketch for record in records if record.sketch])
        expected = linked_one_by_one(method, *runs)
        nodes, roots = find_links(method, *runs)
        assert (nodes > roots).all()
        assert as_sets(nodes, roots) == expected, seed
        with monkeypatch.context() as few:
            few.setattr(matches, "_SHORT", 6)
            few.setattr(matches, "_TRIED", 2)
            found = as_sets(*find_links(method, *runs))
        assert all(any(one <= other for other in found) for one in expected), seed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["simhash", "minhash", "verified", "segments"])
def test_of_what_shares_a_key_and_little_else_few_pairs_are_compared(name, monkeypatch):
    """So it is of copies of one page: of 3,000, each is compared with a few at most."""
    method, size = METHODS[name](), 3_000
    chooser = np.random.default_rng(1)
    compared, match = [], matches._Search._match

    def counted(self, ones, others):
        compared.append(len(ones))
        return match(self, ones, others)

    monkeypatch.setattr(matches._Search, "_match", counted)

    def links_of(kinds):
        payloads = hot_payloads(method, chooser, kinds) * (size // kinds)
        _, roots = find_links(method, np.zeros(size, np.uint64), np.arange(size), payloads)
        return len(roots), len(set(roots.tolist()))

    assert links_of(40) == (size - 40, 40)
    links, groups = links_of(size)
    # Only fingerprints are split; other runs of which few match are judged together.
    if isinstance(method, FingerprintMethod):
        assert links == 0
    else:
        assert links > 0.9 * size
        assert groups == 1
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
