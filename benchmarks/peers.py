"""The peers of index.py: each adds fingerprints one by one, and finds the nearest of a query."""

import logging
from collections.abc import Iterable
from typing import Any

import numpy as np


class Dedup:
    """The index of this project."""

    def __init__(self, max_distance: int) -> None:
        from dedup.index import HammingIndex

        self.index = HammingIndex(max_distance=max_distance)

    def keys(self, prints: Any) -> Iterable[Any]:
        """Return what `add` and `query` take of *prints*."""
        return prints.tolist()

    def add(self, key: int, page: int) -> None:
        self.index.add(key, page)

    def query(self, key: int) -> int | None:
        """Return the page of a match, the nearest one where a peer tells."""
        match = self.index.query(key)
        return None if match is None else match.page


class FaissMultiHash(Dedup):
    """Four hashes of 16 bits (faiss-cpu)."""

    def __init__(self, max_distance: int) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self.max_distance = max_distance
        self.index = faiss.IndexBinaryMultiHash(64, 4, 16)

    def keys(self, prints: Any) -> Iterable[Any]:
        rows = prints.view(np.uint8).reshape(-1, 8)
        return [rows[i : i + 1] for i in range(len(rows))]

    def add(self, key: Any, page: int) -> None:
        self.index.add(key)

    def query(self, key: Any) -> int | None:
        distances, pages = self.index.search(key, 1)
        return int(pages[0, 0]) if distances[0, 0] <= self.max_distance else None


class Simhash1e0ng(Dedup):
    """The package simhash."""

    def __init__(self, max_distance: int) -> None:
        import simhash

        self.simhash = simhash.Simhash
        log = logging.getLogger("silent")
        log.setLevel(logging.CRITICAL)
        self.index = simhash.SimhashIndex([], k=max_distance, log=log)

    def keys(self, prints: Any) -> Iterable[Any]:
        return map(self.simhash, prints.tolist())

    def add(self, key: Any, page: int) -> None:
        self.index.add(str(page), key)

    def query(self, key: Any) -> int | None:
        found = self.index.get_near_dups(key)
        return int(found[0]) if found else None


PEERS: dict[str, type[Dedup]] = {
    "dedup": Dedup,
    "FAISS MultiHash 4x16": FaissMultiHash,
    "simhash (1e0ng)": Simhash1e0ng,
}
