"""Runs of records that share a key -> links that connect all that match. Arrays only."""

from collections.abc import Sequence

import numpy as np

from dedup.arrays import Array, run_positions
from dedup.methods import FingerprintMethod, KeyMethod
from dedup.methods.base import Components, as_rows
from dedup.methods.hashing import mix

_SHORT = 256
# So many pairs for each record of a long run are tried before the run is split.
_TRIED = 64
# A run is split if that spares all but one in so many pairs.
_SPARED = 4
_SAMPLE = 256
# All but one in 16 of the values that differ do so in one of these bits.
_BITS_OF_VALUE = 4


def find_links(
    method: KeyMethod, keys: Array, nodes: Array, payloads: Sequence[bytes]
) -> tuple[Array, Array]:
    """Return links between *nodes*: what matches has links, if only over others.

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
    number. Where few match, the run is split on what matches have in common, and if there is no
    such thing, all are compared with all.
    """

    def __init__(self, method: KeyMethod, payloads: Sequence[bytes]) -> None:
        self._method = method
        self._payloads = payloads
        self._components = _components(method, payloads)
        self._is_exact = isinstance(method, FingerprintMethod)
        self._planes = None if self._components is None else _planes(self._components)
        self.links = [(np.empty(0, np.intp), np.empty(0, np.intp))]
        """Pairs of places that match."""

    def link(self, keys: Array, places: Array) -> None:
        """Link those of *places* that match and have equal *keys*, which are sorted."""
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))[: len(keys)]
        sizes = np.diff(starts, append=len(keys))
        is_run, is_long = sizes > 1, sizes > _SHORT
        self._link_short(places, starts[is_run & ~is_long], sizes[is_run & ~is_long])
        for start, size in zip(starts[is_long].tolist(), sizes[is_long].tolist(), strict=True):
            left = self._link_equal(places[start : start + size])
            left = self._link_long(left, _TRIED * size)
            if not len(left):
                continue
            pieces = self._split(left)
            if pieces is None:
                self._link_long(left, len(left) ** 2)
            for keys_of_piece, places_of_piece in pieces or ():
                self.link(keys_of_piece, places_of_piece)

    def _link_short(self, places: Array, starts: Array, sizes: Array) -> None:
        left, ends, lag = run_positions(starts, sizes), np.repeat(starts + sizes, sizes), 1
        while len(left):
            goes_on = left + lag < ends
            left, ends = left[goes_on], ends[goes_on]
            ones, others = places[left], places[left + lag]
            if self._planes is not None:
                may = self._may_match(self._planes[..., ones], self._planes[..., others])
                ones, others = ones[may], others[may]
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
        planes = None if self._planes is None else self._planes[..., run]
        while len(left):
            if not queue:
                queue, left = [int(left[0])], left[1:]
                planes = None if planes is None else planes[..., 1:]
            if (most := most - len(left)) < 0:
                return np.concatenate([np.array(queue, np.intp), left])
            one, is_match = queue.pop(), np.ones(len(left), np.bool_)
            if self._planes is not None:
                assert planes is not None
                is_match = self._may_match(planes, self._planes[..., one, None])
            may = np.flatnonzero(is_match)
            is_match[may] = self._match(np.full(len(may), one), left[may])
            if is_match.any():
                new, left = left[is_match], left[~is_match]
                planes = None if planes is None else planes[..., ~is_match]
                self.links.append((np.full(len(new), one), new))
                queue += new.tolist()
        return left

    def _may_match(self, planes: Array, others: Array) -> Array:
        assert self._components is not None
        differs = np.bitwise_or.reduce(planes ^ others, axis=0)
        counts = np.bitwise_count(differs).sum(axis=0, dtype=np.uint16)
        may: Array = counts <= self._components.most
        return may

    def _match(self, ones: Array, others: Array) -> Array:
        if self._is_exact:  # as what may match
            return np.ones(len(ones), np.bool_)
        sides = [[self._payloads[place] for place in side.tolist()] for side in (ones, others)]
        most = self._method.max_distance
        is_match: Array = self._method.distances_of_pairs(*sides) <= most
        if self._method.finds_parts:
            is_match |= self._method.distances_of_pairs(*reversed(sides)) <= most
        return is_match

    def _split(self, run: Array) -> list[tuple[Array, Array]] | None:
        """Return sorted keys and places, several times: what matches has one of these keys.

        ``None`` if that does not spare enough pairs.
        """
        if self._components is not None:
            pieces = _split_on_components(self._components, run, are_prints=self._is_exact)
        else:
            pieces = self._split_on_features(run)
        sizes = [np.unique(keys, return_counts=True)[1] for keys, _ in pieces]
        if not pieces or _SPARED * sum(int((own**2).sum()) for own in sizes) > len(run) ** 2:
            return None
        return pieces

    def _split_on_features(self, run: Array) -> list[tuple[Array, Array]]:
        """Split on the rarest features: of two that match, one has one of the other's rarest.

        Source: Chaudhuri, Ganti, Kaushik, "A Primitive Operator for Similarity Joins in Data
        Cleaning", ICDE 2006 (the prefix filter).
        """
        sets = self._method.feature_sets([self._payloads[place] for place in run.tolist()])
        if sets is None:
            return []
        owners = np.repeat(np.arange(len(run)), sets.counts)
        _, which, totals = np.unique(sets.values, return_inverse=True, return_counts=True)
        rarest_first = np.lexsort((which, totals[which], owners))
        firsts = np.repeat(np.cumsum(sets.counts) - sets.counts, sets.counts)
        is_rare = np.arange(len(owners)) - firsts < np.repeat(
            sets.counts - sets.least + 1, sets.counts
        )
        is_asked = np.zeros(len(totals), np.bool_)
        is_asked[which[rarest_first[is_rare]]] = True
        rows = np.flatnonzero(is_asked[which])
        rows = rows[np.argsort(which[rows], kind="stable")]
        return [(which[rows], run[owners[rows]])]


def _split_on_components(
    components: Components, run: Array, *, are_prints: bool
) -> list[tuple[Array, Array]]:
    """Split on one more piece of the components than may differ: what matches agrees in one.

    Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
    section 3.
    """
    rows, most = components.values[run], components.most
    if are_prints:
        rows = np.unpackbits(rows, axis=1)
    columns = np.flatnonzero((rows != rows[0]).any(axis=0))
    if len(columns) <= most:
        return []
    # What hardly differs says little: each piece has some of what differs much.
    sample = np.sort(rows[:: -(-len(rows) // _SAMPLE)][:, columns], axis=0)
    columns = columns[np.argsort((sample[1:] != sample[:-1]).sum(axis=0), kind="stable")]
    pieces = []
    for piece in range(most + 1):
        keys = np.zeros(len(run), np.uint64)
        for column in columns[piece :: most + 1]:
            # Unequal keys are equal by chance at most, which costs time only.
            keys = mix(keys ^ rows[:, column])
        order = np.argsort(keys, kind="stable")
        pieces.append((keys[order], run[order]))
    return pieces


def _components(method: KeyMethod, payloads: Sequence[bytes]) -> Components | None:
    if isinstance(method, FingerprintMethod):
        octets = as_rows(payloads, -(-method.bits // 8))
        return Components(octets, int(method.max_distance), are_bits=True)
    return method.components(payloads)


def _planes(components: Components) -> Array:
    """Return bits by which sketches may match, shape (planes, words, n), uint64.

    Places differ if they do in one plane. Of components that are no bits, these are the lowest.
    """
    values = components.values
    planes = [values]
    if not components.are_bits:
        one = values.dtype.type(1)
        planes = [
            np.packbits((values >> values.dtype.type(bit) & one).astype(np.uint8), axis=1)
            for bit in range(_BITS_OF_VALUE)
        ]
    words = []
    for plane in planes:
        rows = np.zeros((len(plane), -(-plane.shape[1] // 8) * 8), np.uint8)
        rows[:, : plane.shape[1]] = plane
        words.append(np.ascontiguousarray(rows.view(np.uint64).T))
    return np.stack(words)
