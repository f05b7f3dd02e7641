"""What is equal, as one: of its pairs, only those of the earliest few."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dedup.arrays import Array, run_positions, run_positions_in_parts
from dedup.spark.pairs.pairs import Pairs


class Groups(NamedTuple):
    """Members of a run whose values are equal, as one row: the earliest few lead their group.

    *members*: the positions of all, by group, the earliest first in each; *starts* and *sizes*
    are those of the groups in it, *leads* how many lead each.
    """

    members: Array
    starts: Array
    sizes: Array
    leads: Array

    @classmethod
    def of(cls, which: Array, leaders: int) -> "Groups":
        """Return those of members by the number of the group of each, with up to so many leaders.

        >>> Groups.of(np.array([1, 0, 1, 1]), 2).others.tolist()
        [3]
        """
        members = np.argsort(which, kind="stable")
        sizes = np.bincount(which)
        return cls(members, np.cumsum(sizes) - sizes, sizes, np.minimum(sizes, leaders))

    @property
    def others(self) -> Array:
        """The positions of those that do not lead."""
        return self.members[run_positions(self.starts + self.leads, self.sizes - self.leads)]

    def pairs(self, near: Pairs) -> Iterator[Pairs]:
        """Yield the pairs of which one leads, in one group or in those of a *near* pair."""
        leaders = run_positions(self.starts, self.leads)
        end_of = np.repeat(self.starts + self.sizes, self.leads)
        for which, other in run_positions_in_parts(leaders + 1, end_of - leaders - 1):
            yield self._in_order(leaders[which], other)
        one, two = near
        leads, sizes, starts = self.leads, self.sizes, self.starts
        yield from self._across(starts[one], leads[one], starts[two], sizes[two])
        yield from self._across(
            starts[two], leads[two], (starts + leads)[one], (sizes - leads)[one]
        )

    def _across(
        self, starts: Array, sizes: Array, other_starts: Array, other_sizes: Array
    ) -> Iterator[Pairs]:
        """Yield each of the runs of *starts* and *sizes* with each of its counterpart."""
        own = run_positions(starts, sizes)
        of_own = np.repeat(np.arange(len(starts)), sizes)
        for which, other in run_positions_in_parts(other_starts[of_own], other_sizes[of_own]):
            yield self._in_order(own[which], other)

    def _in_order(self, places: Array, others: Array) -> Pairs:
        ones, twos = self.members[places], self.members[others]
        return Pairs(np.minimum(ones, twos), np.maximum(ones, twos))
