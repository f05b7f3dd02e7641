"""Entries of a log, from its start -> the pages that are stored, and what is open."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dedup.arrays import Array
from dedup.record import Committed
from dedup.stores.shared.columns import Claims, Entries
from dedup.stores.shared.log import Entry

_OPEN, _STORED, _GONE = range(3)


class _Piece(NamedTuple):
    """Some claims, and what became of them: released or given on ones are gone.

    *entries* are those that brought them, ``None`` once no claim is open.
    """

    claims: Claims
    states: Array
    entries: Entries | None

    @property
    def is_gone(self) -> bool:
        return bool((self.states == _GONE).all())

    def without_what_is_done(self) -> "_Piece":
        """Return the piece without entries that nobody asks for any more."""
        return self if (self.states == _OPEN).any() else self._replace(entries=None)

    def places(self, numbers: Array) -> Array:
        """Return the places of those claims *numbers* that are among these."""
        own = self.claims.numbers
        places = np.minimum(np.searchsorted(own, numbers), len(own) - 1)
        return np.where(own[places] == numbers, places, -1)


class Replay:
    """Follows a log from its start; pages are given on by number, when those before are known."""

    def __init__(self, stored_since: float, after: int = 0) -> None:
        """Create it; pages that were stored before *stored_since* do not count any more.

        Those with numbers up to *after* are not given on.
        """
        self._stored_since = stored_since
        self.preferred: dict[int, tuple[str, int]] = {}
        """The better keys of pages, by number, and the runs in which they were met."""
        # Those of which something is open, or not given on yet.
        self._pieces: list[_Piece] = []
        self._after = self._given = after
        self._endings: dict[int, Committed] = {}
        self._replaced: list[int] = []

    def add(self, entries: Entries) -> None:
        """Have *entries* happen."""
        if len(entries.claims.numbers):
            states = np.full(len(entries.claims.numbers), _OPEN, np.int8)
            self._pieces.append(_Piece(entries.claims, states, entries))
        for piece, places, _ in self._found(entries.released):
            piece.states[places] = _GONE
        self._endings |= entries.endings
        committed: list[int] = []
        for piece, places, which in self._found(entries.committed):
            self._commit(piece, places, entries.stored[which])
            committed += piece.claims.numbers[places].tolist()
        for number in committed if self._endings else ():
            if event := self._endings.get(number):
                for old in event.replaces:
                    self._replace(old)
        self.preferred |= entries.preferred
        # One open claim may keep all that follows from being given on: no piece waits for those
        # before it.
        self._pieces = [piece.without_what_is_done() for piece in self._pieces if not piece.is_gone]

    def _found(self, numbers: Array) -> Iterator[tuple[_Piece, Array, Array]]:
        """Yield the pieces that have open claims *numbers*, their places, and which these are."""
        firsts = [int(piece.claims.numbers[0]) for piece in self._pieces]
        pieces = np.searchsorted(firsts, numbers, side="right") - 1
        for place in np.unique(pieces[pieces >= 0]).tolist():
            piece = self._pieces[place]
            which = np.flatnonzero(pieces == place)
            places = piece.places(numbers[which])
            is_open = (places >= 0) & (piece.states[places] == _OPEN)
            yield piece, places[is_open], which[is_open]

    def _commit(self, piece: _Piece, places: Array, stored: Array) -> None:
        claims = piece.claims
        counts = (stored >= self._stored_since) & (claims.numbers[places] > self._after)
        piece.states[places] = np.where(counts, _STORED, _GONE)

    def _replace(self, old: int) -> None:
        for piece in self._pieces:
            [place] = piece.places(np.array([old]))
            if place >= 0 and piece.states[place] == _STORED:
                piece.states[place] = _GONE
                return
        if old <= self._given:
            self._replaced.append(old)

    @property
    def open(self) -> dict[int, Entry]:
        """The claims that are open, by number."""
        return {
            number: piece.entries.claim(number)
            for piece in self._pieces
            if piece.entries is not None
            for number in piece.claims.numbers[piece.states == _OPEN].tolist()
        }

    def take(self, *, is_end: bool = False) -> Claims | None:
        """Return pages that were not given on yet, and with them, what they replace.

        Only of pieces before the first one with an open claim, unless *is_end*: to take a piece
        as a whole is fastest. ``None`` if there are no more.
        """
        for place, piece in enumerate(self._pieces):
            if not is_end and (piece.states == _OPEN).any():
                return None
            is_stored = piece.states == _STORED
            if is_stored.any():
                piece.states[is_stored] = _GONE
                if piece.is_gone:
                    del self._pieces[place]
                claims = piece.claims.only(is_stored).with_items_of(self._endings)
                for number in claims.numbers.tolist():
                    self._endings.pop(number, None)
                self._given = int(claims.numbers[-1])
                claims.records.replaced, self._replaced = self._replaced, []
                return claims
        return None
