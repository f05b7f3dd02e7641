"""Runs of records that share a key -> links that connect all that match. Arrays only."""

from collections.abc import Sequence

import numpy as np

from dedup.arrays import Array, run_positions
from dedup.methods.base import Method, as_rows
from dedup.methods.fingerprints import FingerprintMethod
from dedup.methods.hashing import mix

_SHORT = 256
# So many pairs for each record of a long run are tried before the run is split.
_TRIED = 64
# A run is split if that spares all but one in so many pairs.
_SPARED = 4
_SAMPLE = 256


def find_links(
    method: Method, keys: Array, nodes: Array, payloads: Sequence[bytes]
) -> tuple[Array, Array]:
    """Return links between *nodes*: what matches has links, if only over others; so may the rest.

    *keys*: sorted, shape (n,), as *nodes*, int64; only what has an equal key is compared.
    *payloads*: what is compared of each. The links have shape (links,), each from a node to the
    least one that it is connected with.
    """
    search = _Search(method, payloads)
    search.link(keys, np.arange(len(keys)))
    ones, others = (np.concatenate(side) for side in zip(*search.links, strict=True))
    found, least = connect(nodes[ones], nodes[others])
    is_link = found != least
    return found[is_link], least[is_link]


def connect(ones: Array, others: Array) -> tuple[Array, Array]:
    """Return the nodes of links, each once, and the least node that each is connected with.

    >>> [part.tolist() for part in connect(np.array([5, 9, 2]), np.array([9, 3, 4]))]
    [[2, 3, 4, 5, 9], [2, 3, 2, 3, 3]]
    """
    nodes, ends = np.unique(np.stack([ones, others]), return_inverse=True)
    ones, others = ends.reshape(2, -1)
    least = np.arange(len(nodes))
    while len(ones):
        lower, upper = (
            np.minimum(least[ones], least[others]),
            np.maximum(least[ones], least[others]),
        )
        differ = lower != upper
        ones, others = ones[differ], others[differ]
        np.minimum.at(least, upper[differ], lower[differ])
        while (least != (further := least[least])).any():
            least = further
    return nodes, nodes[least]


class _Search:
    """Links what matches in runs.

    In a short run, all are compared with all. In a long one, each that is found is compared with
    those that nobody has found yet, so that many copies of one page take no longer than their
    number. Where few match, a run of fingerprints is split on what matches have in common. What is
    left then is linked as if it matched: who judges it asks an index, as a scan does.
    """

    def __init__(self, method: Method, payloads: Sequence[bytes]) -> None:
        self._method = method
        self._payloads = payloads
        # Fingerprints, shape (n, words), uint64, padded with zeros.
        self._words: Array | None = None
        if isinstance(method, FingerprintMethod):
            octets = as_rows(payloads, -(-method.bits // 8))
            self._words = np.pad(octets, ((0, 0), (0, -octets.shape[1] % 8))).view(np.uint64)
        self.links = [(np.empty(0, np.intp), np.empty(0, np.intp))]
        """Pairs of places that match, or may."""

    def link(self, keys: Array, places: Array) -> None:
        """Link those of *places* that match and have equal *keys*, which are sorted."""
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))[: len(keys)]
        sizes = np.diff(starts, append=len(keys))
        is_run, is_long = sizes > 1, sizes > _SHORT
        self._link_short(places, starts[is_run & ~is_long], sizes[is_run & ~is_long])
        for start, size in zip(starts[is_long].tolist(), sizes[is_long].tolist(), strict=True):
            left = self._link_equal(places[start : start + size])
            left = self._link_long(left, _TRIED * size)
            if pieces := self._split(left):
                for piece in pieces:
                    self.link(*piece)
            else:
                self.links.append((left[1:], np.broadcast_to(left[:1], max(0, len(left) - 1))))

    def _link_short(self, places: Array, starts: Array, sizes: Array) -> None:
        left, ends, lag = run_positions(starts, sizes), np.repeat(starts + sizes, sizes), 1
        while len(left):
            goes_on = left + lag < ends
            left, ends = left[goes_on], ends[goes_on]
            ones, others = places[left], places[left + lag]
            is_match = self._match(ones, others)
            self.links.append((ones[is_match], others[is_match]))
            lag += 1

    def _link_equal(self, run: Array) -> Array:
        """Link what is equal in a *run*; return the first of each."""
        firsts: dict[bytes, int] = {}
        sketches = ((self._payloads[place], place) for place in run.tolist())
        heads = np.array([firsts.setdefault(*sketch) for sketch in sketches])
        is_first = heads == run
        self.links.append((run[~is_first], heads[~is_first]))
        left: Array = run[is_first]
        return left

    def _link_long(self, run: Array, most: int) -> Array:
        """Link a *run* by up to *most* comparisons; return those that may have other matches."""
        left = run
        queue: list[int] = []
        while len(left):
            if not queue:
                queue, left = [int(left[0])], left[1:]
            if (most := most - len(left)) < 0:
                return np.concatenate([np.array(queue, np.intp), left])
            one = queue.pop()
            is_match = self._match(np.broadcast_to(np.intp(one), len(left)), left)
            new, left = left[is_match], left[~is_match]
            self.links.append((np.broadcast_to(np.intp(one), len(new)), new))
            queue += new.tolist()
        return left

    def _match(self, ones: Array, others: Array) -> Array:
        most = self._method.max_distance
        if self._words is not None:
            differs = np.bitwise_count(self._words[ones] ^ self._words[others])
            return differs.sum(axis=1, dtype=np.uint16) <= most  # type: ignore[no-any-return]
        sides = [[self._payloads[place] for place in side.tolist()] for side in (ones, others)]
        is_match: Array = self._method.distances_of_pairs(*sides) <= most
        if self._method.finds_parts:
            is_match |= self._method.distances_of_pairs(*reversed(sides)) <= most
        return is_match

    def _split(self, run: Array) -> list[tuple[Array, Array]]:
        """Return sorted keys and places, several times: what matches has one of these keys.

        Fingerprints are split on one more piece of their bits than may differ. Nothing is returned
        for others, and if it does not spare enough pairs.

        Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
        section 3.
        """
        if self._words is None or not len(run):
            return []
        bits = np.unpackbits(self._words[run].view(np.uint8), axis=1)
        columns, count = (
            np.flatnonzero((bits != bits[0]).any(axis=0)),
            int(self._method.max_distance) + 1,
        )
        if len(columns) < count:
            return []
        # What hardly differs says little: each piece has some of what differs much.
        sample = np.sort(bits[:: -(-len(bits) // _SAMPLE)][:, columns], axis=0)
        columns = columns[np.argsort((sample[1:] != sample[:-1]).sum(axis=0), kind="stable")]
        pieces, pairs = [], 0
        for piece in range(count):
            keys = np.zeros(len(run), np.uint64)
            for column in columns[piece::count]:
                # Unequal keys are equal by chance at most, which costs time only.
                keys = mix(keys ^ bits[:, column])
            order = np.argsort(keys, kind="stable")
            pieces.append((keys[order], run[order]))
            pairs += int((np.unique(keys, return_counts=True)[1] ** 2).sum())
        return pieces if _SPARED * pairs <= len(run) ** 2 else []
