"""The competitors of index.py, each driven through the same few methods."""

import logging
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from fingerprints import NEAR, nearest

WIDE = (7, 10)
BATCH = 1_000
# Up to this size, gaoya's own fingerprints of the texts are determined, to judge its answers.
JUDGED_UP_TO = 100_000


class Competitor:
    """The interface of all competitors; unsupported calls raise NotImplementedError."""

    package = ""
    distances: tuple[int, ...] = (NEAR,)
    largest = 1 << 62
    takes_texts = False
    finds_pairs_only = False

    def __init__(self, max_distance: int) -> None:
        self.max_distance = max_distance

    def keys(self, prints: Any, numbers: Any) -> Iterator[Any]:
        """Yield keys for `add` and `query` from *prints*, whose texts have these *numbers*."""
        for start in range(0, len(prints), BATCH):
            yield from prints[start : start + BATCH].tolist()

    def own_prints(self, arrays: Any) -> tuple[Any, Any, Any] | None:
        """Return stored fingerprints, queries and least distances, or ``None`` if too slow."""
        return arrays["stored"], arrays["queries"], arrays["nearest"]

    def add(self, key: Any, page: int) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Do what is necessary between adding and querying."""

    def query(self, key: Any) -> int | None:
        """Return the page of a match, if possible of the nearest one."""
        raise NotImplementedError

    def check_and_add(self, key: Any, page: int) -> None:
        if self.query(key) is None:
            self.add(key, page)

    def query_many(self, prints: Any) -> None:
        raise NotImplementedError

    def pairs(self, prints: Any) -> Iterator[tuple[float, int]]:
        """Find the pairs among the stored *prints*.

        Yields the completed share of the work and the number of pairs so far.
        """
        raise NotImplementedError

    def save(self, path: Path) -> Callable[[], "Competitor"]:
        """Write the index to *path*, and return the function that loads it."""
        raise NotImplementedError


class Dedup(Competitor):
    package = "scrapy-dedup"
    distances = (NEAR, *WIDE)

    def __init__(self, max_distance: int) -> None:
        from dedup.index import HammingIndex

        super().__init__(max_distance)
        self.index = HammingIndex(max_distance=max_distance)

    def add(self, key: int, page: int) -> None:
        self.index.add(key, page)

    def query(self, key: int) -> int | None:
        match = self.index.query(key)
        return None if match is None else match.page

    def query_many(self, prints: Any) -> None:
        self.index.query_many(prints)

    def pairs(self, prints: Any) -> Iterator[tuple[float, int]]:
        found = sum(int((pages < numbers).sum()) for numbers, pages, _ in self.index.join(prints))
        yield 1.0, found

    def save(self, path: Path) -> Callable[[], Competitor]:
        self.index.save(path)

        def load() -> Competitor:
            loaded = object.__new__(type(self))
            loaded.index = type(self.index).load(path)
            return loaded

        return load


class BruteForce(Competitor):
    """Compares everything with NumPy."""

    distances = (NEAR, *WIDE)

    def __init__(self, max_distance: int) -> None:
        super().__init__(max_distance)
        self.prints, self.used = np.empty(1 << 10, np.uint64), 0

    def add(self, key: int, page: int) -> None:
        if self.used == len(self.prints):
            self.prints = np.append(self.prints, np.empty(self.used // 2, np.uint64))
        self.prints[self.used] = key
        self.used += 1

    def query(self, key: int) -> int | None:
        distances = np.bitwise_count(self.prints[: self.used] ^ np.uint64(key))
        page = int(distances.argmin())
        return page if distances[page] <= self.max_distance else None


class Pickled(Competitor):
    def save(self, path: Path) -> Callable[[], Competitor]:
        path.write_bytes(pickle.dumps(self, pickle.HIGHEST_PROTOCOL))
        return lambda: pickle.loads(path.read_bytes())


class DictOfLists(Pickled):
    """Four dicts from 16 bits to the pages that have them."""

    def __init__(self, max_distance: int) -> None:
        super().__init__(max_distance)
        self.prints: list[int] = []
        self.tables: list[dict[int, list[int]]] = [{}, {}, {}, {}]

    def add(self, key: int, page: int) -> None:
        for block, table in enumerate(self.tables):
            table.setdefault(key >> (16 * block) & 0xFFFF, []).append(len(self.prints))
        self.prints.append(key)

    def query(self, key: int) -> int | None:
        prints, nearest, found = self.prints, self.max_distance + 1, None
        for block, table in enumerate(self.tables):
            for page in table.get(key >> (16 * block) & 0xFFFF, ()):
                if (distance := (prints[page] ^ key).bit_count()) < nearest:
                    nearest, found = distance, page
        return found


class FaissMultiHash(Competitor):
    """Four hashes of 16 bits; beyond distance 3, values 1 or 2 bits from the query's as well."""

    package = "faiss-cpu"
    distances = (NEAR, *WIDE)

    def __init__(self, max_distance: int) -> None:
        import faiss

        super().__init__(max_distance)
        faiss.omp_set_num_threads(1)
        self.faiss = faiss
        self.index = self.create()

    def create(self) -> Any:
        index = self.faiss.IndexBinaryMultiHash(64, 4, 16)
        index.nflip = self.max_distance // 4
        return index

    def keys(self, prints: Any, numbers: Any) -> Iterator[Any]:
        rows = prints.view(np.uint8).reshape(-1, 8)
        return (rows[i : i + 1] for i in range(len(rows)))

    def add(self, key: Any, page: int) -> None:
        self.index.add(key)

    def query(self, key: Any) -> int | None:
        distances, pages = self.index.search(key, 1)
        return int(pages[0, 0]) if distances[0, 0] <= self.max_distance else None

    def query_many(self, prints: Any) -> None:
        self.index.search(prints.view(np.uint8).reshape(-1, 8), 1)

    def pairs(self, prints: Any) -> Iterator[tuple[float, int]]:
        rows = prints.view(np.uint8).reshape(-1, 8)
        found = 0
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            # The radius is exclusive. A pair is found from both sides, and everything finds itself.
            found += len(self.index.range_search(part, self.max_distance + 1)[1]) - len(part)
            yield (start + len(part)) / len(rows), found // 2

    def save(self, path: Path) -> Callable[[], Competitor]:
        self.faiss.write_index_binary(self.index, str(path))

        def load() -> Competitor:
            loaded = type(self)(self.max_distance)
            loaded.index = self.faiss.read_index_binary(str(path))
            return loaded

        return load


class FaissHash(FaissMultiHash):
    """One hash of 20 bits, and all values within 3 bits of the query's: that many are exact."""

    distances = (NEAR,)

    def create(self) -> Any:
        index = self.faiss.IndexBinaryHash(64, 20)
        index.nflip = self.max_distance
        return index


class Gaoya(Competitor):
    package = "gaoya"
    takes_texts = True
    blocks = 5

    def __init__(self, max_distance: int) -> None:
        from gaoya.simhash import SimHashStringIndex

        super().__init__(max_distance)
        # It tests "distance < hamming_distance".
        self.index = SimHashStringIndex(num_blocks=self.blocks, hamming_distance=max_distance + 1)
        self.text: Callable[[int], str] = str
        self.hashed = 0

    def keys(self, prints: Any, numbers: Any) -> Iterator[str]:
        return (
            self.text(number)
            for start in range(0, len(numbers), BATCH)
            for number in numbers[start : start + BATCH].tolist()
        )

    def own_prints(self, arrays: Any) -> tuple[Any, Any, Any] | None:
        if len(arrays["stored"]) > JUDGED_UP_TO:
            return None
        stored, queries = (
            np.array([self.hash(key) for key in self.keys(None, arrays[name])], np.uint64)
            for name in ("stored_texts", "queries_texts")
        )
        return stored, queries, nearest(stored, queries)

    def hash(self, key: str) -> int:
        return self.index.index.doc2signature(key)

    def add(self, key: str, page: int) -> None:
        self.hashed += 1
        self.index.insert_document(page, key)

    def query(self, key: str) -> int | None:
        self.hashed += 1
        return next(iter(self.index.query(key)), None)


class Gaoya6(Gaoya):
    blocks = 6


class Simhash1e0ng(Pickled):
    package = "simhash"

    def __init__(self, max_distance: int) -> None:
        import simhash

        super().__init__(max_distance)
        self.simhash = simhash.Simhash
        log = logging.getLogger("silent")
        log.setLevel(logging.CRITICAL)
        self.index = simhash.SimhashIndex([], k=max_distance, log=log)

    def keys(self, prints: Any, numbers: Any) -> Iterator[Any]:
        return map(self.simhash, super().keys(prints, numbers))

    def add(self, key: Any, page: int) -> None:
        self.index.add(str(page), key)

    def query(self, key: Any) -> int | None:
        found = self.index.get_near_dups(key)
        return int(found[0]) if found else None


class SimhashPy(Competitor):
    """Finds the pairs of a set of numbers, and keeps nothing."""

    package = "simhash-py"
    finds_pairs_only = True

    def __init__(self, max_distance: int) -> None:
        if "SIMHASH_PY" not in os.environ:
            raise ImportError("SIMHASH_PY is not set")
        sys.path.insert(0, os.environ["SIMHASH_PY"])
        from simhash import find_all

        super().__init__(max_distance)
        self.find_all = find_all
        self.prints: set[int] = set()

    def add(self, key: int, page: int) -> None:
        self.prints.add(key)

    def pairs(self, prints: Any) -> Iterator[tuple[float, int]]:
        yield 1.0, len(self.find_all(self.prints, self.max_distance + 2, self.max_distance))


class ProbeVariants(Competitor):
    """Looks up all 43,745 numbers within 3 bits of the query, the nearer ones first."""

    largest = 10_000

    def __init__(self, max_distance: int) -> None:
        super().__init__(max_distance)
        self.pages: dict[int, int] = {}
        self.masks = [
            sum(1 << bit for bit in bits)
            for distance in range(max_distance + 1)
            for bits in combinations(range(64), distance)
        ]

    def add(self, key: int, page: int) -> None:
        self.pages.setdefault(key, page)

    def query(self, key: int) -> int | None:
        for mask in self.masks:
            if key ^ mask in self.pages:
                return self.pages[key ^ mask]
        return None


class StoreVariants(ProbeVariants):
    """Stores all 43,745 numbers within 3 bits of everything."""

    largest = 100

    def add(self, key: int, page: int) -> None:
        for mask in self.masks:
            self.pages.setdefault(key ^ mask, page)

    def query(self, key: int) -> int | None:
        return self.pages.get(key)


COMPETITORS: dict[str, type[Competitor]] = {
    "dedup": Dedup,
    "FAISS MultiHash 4x16": FaissMultiHash,
    "FAISS Hash 20, nflip 3": FaissHash,
    "gaoya, 5 blocks": Gaoya,
    "gaoya, 6 blocks": Gaoya6,
    "simhash (1e0ng)": Simhash1e0ng,
    "simhash-py find_all": SimhashPy,
    "dict of lists": DictOfLists,
    "brute force": BruteForce,
    "probe all variants": ProbeVariants,
    "store all variants": StoreVariants,
}
