"""Matches -> who is dropped: in order, each page that matches a kept earlier one. Arrays only."""

from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dedup.arrays import Array


class Standing(IntEnum):
    """What is known of a page."""

    KEPT = 0
    DROPPED = 1
    OPEN = 2


class Decided(NamedTuple):
    """Pages by their nodes, sorted, shape (n,), and the `Standing` of each, uint8."""

    nodes: Array
    standings: Array


def decide(earlier: Array, later: Array, incomplete: Array) -> Decided:
    """Return what becomes of all pages that match others, or are *incomplete*.

    *earlier* and *later*: the nodes of pairs that match, int64; the lower one is judged before. An
    incomplete page may match others than these: unless it is dropped it stays open, and so does
    whatever matches one that is open and no kept one.

    >>> decide(np.array([1, 2]), np.array([2, 3]), np.array([], np.int64)).standings.tolist()
    [0, 1, 0]
    """
    nodes, places = np.unique(np.concatenate([earlier, later, incomplete]), return_inverse=True)
    ones, twos, open_ = np.split(places, np.cumsum([len(earlier), len(later)]))
    order = np.argsort(ones, kind="stable")
    followers = twos[order]
    borders = np.searchsorted(ones[order], np.arange(len(nodes) + 1)).tolist()
    standings = np.zeros(len(nodes), np.uint8)
    standings[open_] = Standing.OPEN
    # Whoever follows comes later, so each is decided once its turn has come.
    for place, (start, end) in enumerate(pairwise(borders)):
        if start == end or standings[place] == Standing.DROPPED:
            continue
        own = followers[start:end]
        if standings[place] == Standing.KEPT:
            standings[own] = Standing.DROPPED
        else:
            standings[own[standings[own] == Standing.KEPT]] = Standing.OPEN
    return Decided(nodes, standings)
