"""Nodes -> runs of those that share a key -> what matches, in tables of Arrow."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import xxhash

from dedup.arrays import Array
from dedup.evidence import VIEW, Evidence
from dedup.index.spots import min_shared_spots
from dedup.methods import KeyMethod, SpotSigs
from dedup.methods.hashing import mix
from dedup.rule import Rule, Witness
from dedup.spark.comparison import Comparison, Links, Members, Shared
from dedup.spark.witnesses import to_bytes

ROWS_OF_RUNS = (
    "shared tinyint, scope string, run long, node long, last long, is_kept boolean, "
    "payload binary, witness binary"
)
LINKS = "page long, original long, kind tinyint, distance double"
"""A page whose original is null was not compared with all that share a key."""
OBJECTIONS_OF_RUNS = "page long, shared tinyint, distance double, original long, objection tinyint"
"""What is nearest to a kept page in a run: see `Shared` and `witnesses.OBJECTIONS`."""

Batches = Iterable[pa.RecordBatch]
_NODES_AT_ONCE = 1 << 11
_BYTES_AT_ONCE = 64 << 20
_ROWS_AT_ONCE = 1 << 18


def rows_of_runs(
    method: KeyMethod, rule: Rule, *, with_weak: bool = False
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return what makes rows of `ROWS_OF_RUNS` of nodes: one for each key of each.

    All rows of a run have the same number *run*; others have it by chance at most. Pages whose main
    text is weak evidence are in runs of what shows the same, and only *with_weak* in others.
    """

    def explode(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            # Each has as many copies as it has keys.
            for start in range(0, batch.num_rows, _NODES_AT_ONCE):
                part = batch.slice(start, _NODES_AT_ONCE)
                yield from _rows_of(part, method, rule, with_weak=with_weak)

    return explode


def _rows_of(
    batch: pa.RecordBatch, method: KeyMethod, rule: Rule, *, with_weak: bool
) -> Iterator[pa.RecordBatch]:
    digests, sketches, evidence = (
        batch.column(name).to_pylist() for name in ("digest", "sketch", "evidence")
    )
    witnesses: list[bytes | None] = [None] * len(digests)
    is_weak = np.zeros(len(digests), np.bool_)
    for place, data in enumerate(evidence):
        if data is not None:
            tokens, common = batch.column("tokens")[place].as_py(), batch.column("common")[place]
            witnesses[place] = to_bytes(tokens, data, common.as_py())
            is_weak[place] = rule.is_weak(Witness(tokens, Evidence.from_bytes(data)))
    is_weak &= not with_weak
    has_witness = np.array([data is not None for data in evidence], np.bool_)
    is_alone = _numbers(batch, "twins") == 1
    whose = pa.array(witnesses, pa.binary())
    scopes = batch.column("scope").cast(pa.binary()).dictionary_encode()

    def rows(shared: Shared, owners: Array, runs: Array, payloads: pa.Array) -> pa.RecordBatch:
        columns = {name: batch.column(name).take(owners) for name in ("scope", "node", "last")}
        columns |= {"is_kept": batch.column("is_kept").take(owners)}
        columns |= {"payload": payloads, "witness": whose.take(owners)}
        columns["shared"] = pa.array(np.full(len(owners), int(shared), np.int8))
        own = mix(runs ^ _hashes(scopes, shared)[owners])
        columns["run"] = pa.array(own.view(np.int64))
        names = [part.split()[0] for part in ROWS_OF_RUNS.split(", ")]
        return pa.RecordBatch.from_arrays([columns[name] for name in names], names)

    # What is weak can only go for what shows the same.
    [equal] = np.nonzero(~is_alone & ~is_weak)
    if len(equal):
        own = [digests[place] for place in equal]
        yield rows(Shared.TEXT, equal, _first_words(own), pa.array(own, pa.binary()))
    [same] = np.nonzero(~is_alone & has_witness)
    if len(same):
        own = [digests[place] + evidence[place][VIEW] for place in same]
        runs = _first_words(own) ^ _first_words([both[16:] for both in own])
        yield rows(Shared.VIEW, same, runs, pa.array(own, pa.binary()))
    [long] = np.nonzero(~_flags(batch, "is_short") & ~is_weak)
    if len(long):
        keys, counts, payloads = _keys([sketches[place] for place in long], method)
        owners = np.repeat(np.arange(len(long)), counts)
        data = pa.array(payloads, pa.binary()).take(owners)
        yield rows(Shared.KEY, long[owners], np.ascontiguousarray(keys), data)


def _hashes(values: pa.DictionaryArray, seed: int) -> Array:
    hashes = [xxhash.xxh3_64_intdigest(value, seed) for value in values.dictionary.to_pylist()]
    of_values: Array = np.array(hashes, np.uint64)[values.indices.to_numpy()]
    return of_values


def _keys(sketches: list[bytes], method: KeyMethod) -> tuple[Array, Array, Sequence[bytes]]:
    """Return the keys of all *sketches* as `keys_of_many`; of SpotSigs, as many as are needed.

    Two sketches that match share one of their first spots, in whichever order: those of each that
    are more than so many as a match has to share with it, less one.

    Source: Chaudhuri, Ganti, Kaushik, "A Primitive Operator for Similarity Joins in Data Cleaning",
    ICDE 2006 (the prefix filter).
    """
    keys, counts, payloads = method.keys_of_many(sketches)
    if not isinstance(method, SpotSigs):
        return keys, counts, payloads
    limit = method.max_distance
    needed = {size: min_shared_spots(size, 1, limit) for size in set(counts.tolist())}
    leads = np.array([size - needed[size] + 1 for size in counts.tolist()])
    places = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
    return keys[places < np.repeat(leads, counts)], leads, payloads


def links_of_runs(method: KeyMethod, rule: Rule) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return what makes `LINKS` of the rows of runs, which are sorted by their numbers."""

    def compare(batches: Batches) -> Iterator[pa.RecordBatch]:
        comparison = Comparison(method, rule)
        for members, _ in _members(batches):
            for links in comparison.links(members):
                yield _table(links)
            for nodes in comparison.incomplete:
                yield _incomplete(np.unique(nodes))
            comparison.incomplete.clear()

    return compare


def links_to_kept(method: KeyMethod, rule: Rule) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return what makes `LINKS` of the rows of runs: those of all that are not kept to the kept."""

    def compare(batches: Batches) -> Iterator[pa.RecordBatch]:
        comparison = Comparison(method, rule)
        for members, is_kept in _members(batches):
            for links in comparison.links_to_kept(members, is_kept):
                yield _table(links)

    return compare


def objections_of_runs(
    method: KeyMethod, rule: Rule
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return what makes `OBJECTIONS_OF_RUNS` of the rows of runs, of which all nodes are kept."""

    def compare(batches: Batches) -> Iterator[pa.RecordBatch]:
        comparison = Comparison(method, rule)
        for members, _ in _members(batches):
            for links in comparison.objections(members):
                yield _nearest(members.shared, links)

    return compare


def _nearest(shared: Shared, links: Links) -> pa.RecordBatch:
    """Return the nearest of each page, and of these the earliest, if there is an objection."""
    pages, originals, kinds, distances = (column[links.kinds > 0] for column in links)
    order = np.lexsort((originals, distances, pages))
    is_first = np.append(True, np.diff(pages[order]) > 0)[: len(order)]
    first = order[is_first]
    columns = pages, np.full(len(links.pages), shared, np.int8), distances, originals, kinds
    arrays = [pa.array(column[first]) for column in columns]
    arrays[-1] = arrays[-1].cast(pa.int8())
    return pa.RecordBatch.from_arrays(arrays, [*_NEAREST])


_NEAREST = [part.split()[0] for part in OBJECTIONS_OF_RUNS.split(", ")]


def _members(batches: Batches) -> Iterator[tuple[Members, Array]]:
    """Yield runs, as many as are compared at once, and whether each of their members is kept."""
    for table in _whole_runs(batches):
        scopes = table.column("scope").dictionary_encode().combine_chunks().indices.to_numpy()
        shared, run, node = (_numbers(table, name) for name in ("shared", "run", "node"))
        order = np.lexsort((node, scopes, run, shared))
        keys = np.stack([run, scopes])[:, order]
        is_first = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
        ends = np.searchsorted(shared[order], [kind + 1 for kind in Shared]).tolist()
        # Arrow itself cannot put more than 2 GB of bytes in order.
        data = [table.column(name).to_pylist() for name in ("payload", "witness")]
        for kind, (first, last) in zip(Shared, pairwise([0, *ends]), strict=True):
            if first == last:
                continue
            places = order[first:last]
            payloads, witnesses = ([values[place] for place in places.tolist()] for values in data)
            starts = np.flatnonzero(is_first[first:last])
            starts = starts if is_first[first] else np.append(0, starts)
            lasts = _numbers(table, "last")[places]
            members = Members(kind, starts, node[places], lasts, payloads, witnesses)
            yield members, _flags(table, "is_kept")[places]


def _whole_runs(batches: Batches) -> Iterator[pa.Table]:
    """Yield the rows of some whole runs at a time."""
    waiting: list[pa.RecordBatch] = []
    size = rows = 0
    last = None
    for batch in batches:
        if not batch.num_rows:
            continue
        run = _numbers(batch, "run")
        if size >= _BYTES_AT_ONCE or rows >= _ROWS_AT_ONCE:
            is_other = run != last
            begin = int(is_other.argmax()) if is_other.any() else batch.num_rows
            if begin < batch.num_rows:
                yield pa.Table.from_batches([*waiting, batch.slice(0, begin)])
                waiting, size, rows = [], 0, 0
                batch = batch.slice(begin)
        waiting.append(batch)
        size, rows = size + batch.nbytes, rows + batch.num_rows
        last = run[-1]
    if waiting:
        yield pa.Table.from_batches(waiting)


def _table(links: Links) -> pa.RecordBatch:
    columns = [links.pages, links.originals, links.kinds.astype(np.int8), links.distances]
    return pa.RecordBatch.from_arrays(
        [pa.array(column) for column in columns], ["page", "original", "kind", "distance"]
    )


def _incomplete(nodes: Array) -> pa.RecordBatch:
    nothing = [pa.nulls(len(nodes), kind) for kind in (pa.int64(), pa.int8(), pa.float64())]
    return pa.RecordBatch.from_arrays(
        [pa.array(nodes), *nothing], ["page", "original", "kind", "distance"]
    )


def _first_words(values: list[bytes]) -> Array:
    return np.frombuffer(b"".join([value[:8] for value in values]), "<u8").astype(np.uint64)


def _numbers(rows: pa.RecordBatch | pa.Table, name: str) -> Array:
    column = rows.column(name)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in chunks])


def _flags(rows: pa.RecordBatch | pa.Table, name: str) -> Array:
    return _numbers(rows, name).astype(np.bool_)
