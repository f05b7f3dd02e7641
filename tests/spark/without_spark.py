"""The steps of `dedup.spark.judge` in one process: its own parts, and loops for its tables."""

from collections import defaultdict

import numpy as np
import pyarrow as pa

from dedup.evidence import Evidence, Names
from dedup.rule import Kind
from dedup.scopes import host
from dedup.spark.comparison import Link
from dedup.spark.greedy import Standing, decide
from dedup.spark.runs import links_of_runs, links_to_kept, objections_of_runs, rows_of_runs
from dedup.spark.witnesses import OBJECTIONS, flags_of


def judged(method, rule, collection):
    """Return what `dedup.spark.judge` says of *collection*, in how many rounds, and why."""
    nodes, of_rank = _nodes(rule, collection)
    links, incomplete, dropped, left, rounds = [], set(), set(), dict(nodes), 0
    while left:
        rounds += 1
        found = _compared(links_of_runs(method, rule), method, rule, left.values())
        ours = {page for page, original, *_ in found if original is None}
        incomplete |= ours
        found = [link for link in found if link[1] is not None]
        links += found
        pairs = {(original, page) for page, original, *_ in found if original < page}
        earlier, later = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
        decided = decide(earlier, later, np.array(sorted(ours), np.int64))
        standing = dict(zip(decided.nodes.tolist(), decided.standings.tolist(), strict=True))
        dropped |= {node for node, own in standing.items() if own == Standing.DROPPED}
        left = {node: nodes[node] for node, own in standing.items() if own == Standing.OPEN}
    if rounds > 1:
        kept = [row | {"is_kept": True} for node, row in nodes.items() if node not in dropped]
        asked = [nodes[node] for node in dropped & incomplete]
        links += _compared(links_to_kept(method, rule), method, rule, asked + kept)
    kept = [row | {"is_kept": True} for node, row in nodes.items() if node not in dropped]
    objections = _objections(method, rule, kept) if rule.demands else {}
    return _verdicts(collection, of_rank, links, dropped), rounds, objections


def _objections(method, rule, kept):
    """Return the objection to dropping each of the *kept* nodes, of those that match another."""
    first = {}
    for page, *match in _compared(objections_of_runs(method, rule), method, rule, kept, True):
        first[page] = min(match, first.get(page, match))
    return {page: OBJECTIONS[match[-1]] for page, match in first.items()}


def _nodes(rule, collection):
    names, nodes, of_rank, of_content = {}, {}, {}, {}
    for rank, record in enumerate(collection):
        common = 0
        evidence = record.evidence if rule.demands else None
        if evidence:
            own = names.setdefault(host(record.key), Names())
            common = flags_of(own, host(record.key), Evidence.from_bytes(evidence))
            own.learn(host(record.key), Evidence.from_bytes(evidence))
        if rule.reason_to_skip(record):
            continue
        row = {name: getattr(record, name) for name in ("scope", "digest", "sketch", "tokens")}
        row |= {"evidence": evidence, "common": common, "is_short": rule.is_short(record)}
        content = (*row.values(), record.is_binary)
        node = of_rank[rank] = of_content.setdefault(content, rank)
        nodes.setdefault(node, row | {"node": node, "is_kept": False})["last"] = rank
    for row in nodes.values():
        row["twins"] = sum(
            (row["scope"], row["digest"]) == (other["scope"], other["digest"])
            for other in nodes.values()
        )
    return nodes, of_rank


_SCHEMA = pa.schema(
    {
        "scope": pa.string(), "digest": pa.binary(), "sketch": pa.binary(), "tokens": pa.int64(),
        "evidence": pa.binary(), "common": pa.int32(), "is_short": pa.bool_(), "node": pa.int64(),
        "last": pa.int64(), "twins": pa.int64(), "is_kept": pa.bool_(),
    }
)  # fmt: skip


def _compared(compare, method, rule, rows, with_weak=False):
    batch = pa.RecordBatch.from_pylist(list(rows), _SCHEMA)
    explode = rows_of_runs(method, rule, with_weak=with_weak)
    runs = pa.Table.from_batches(list(explode([batch])), _RUNS)
    # Rows of a run are in any order; runs of other scopes and kinds may have the same number.
    numbers = defaultdict(dict)
    rows = zip(*(runs[name].to_pylist() for name in ("shared", "scope", "run")), strict=True)
    own = [(known := numbers[kind, scope]).setdefault(run, len(known)) for kind, scope, run in rows]
    runs = runs.set_column(runs.column_names.index("run"), "run", pa.array(own, pa.int64()))
    shuffled = runs.take(np.random.default_rng(len(runs)).permutation(len(runs)))
    in_order = shuffled.sort_by("run")
    found = compare(in_order.combine_chunks().to_batches(max_chunksize=5))
    return [tuple(link.values()) for table in found for link in table.to_pylist()]


_RUNS = pa.schema(
    {
        "shared": pa.int8(), "scope": pa.string(), "run": pa.int64(), "node": pa.int64(),
        "last": pa.int64(), "is_kept": pa.bool_(), "payload": pa.binary(), "witness": pa.binary(),
    }
)  # fmt: skip


def _verdicts(collection, of_rank, links, dropped):
    verdicts = []
    for rank in range(len(collection)):
        node = of_rank.get(rank)
        if node is None:
            verdicts.append((rank, Kind.SKIPPED.value, None, None))
        elif node not in dropped and node == rank:
            verdicts.append((rank, Kind.NEW.value, None, None))
        elif node not in dropped:
            verdicts.append((rank, Kind.EXACT.value, node, 0))
        else:
            kind, distance, original = min(
                (kind, distance, original)
                for page, original, kind, distance in links
                if page == node and original not in dropped and original < rank
            )
            name = Kind.NEAR if kind == Link.NEAR else Kind.EXACT
            verdicts.append((rank, name.value, original, distance))
    return verdicts
