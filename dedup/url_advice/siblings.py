"""Siblings, as the hosts or the versions of a documentation: which of them repeats which other?"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import chain, combinations, starmap

from dedup.url_advice.advice import LEAST_COMPARED
from dedup.url_advice.sameness import Sameness
from dedup.url_advice.urls import Url

# All pairs are compared by their texts; each is compared by sketches only with those that share
# most texts with it.
_MOST_SIBLINGS = 64
_MOST_RIVALS = 4


def best_rivals(
    siblings: Sequence[Mapping[Url, Url]], contents: Mapping[Url, int], sameness: Sameness
) -> Iterator[tuple[int, int]]:
    """Yield pairs of numbers: one of *siblings*, and the later one that it repeats most.

    A sibling has its URLs by what they have in common with those of others; *contents* are those of
    the URLs.
    """
    contents_of = _contents_in_common(siblings, contents)
    common, equal = _count_pairs(contents_of)
    rivals: dict[int, list[int]] = defaultdict(list)
    for (number, other), count in common.items():
        if count >= LEAST_COMPARED:
            rivals[number].append(other)
    for number, others in sorted(rivals.items()):
        own = contents_of[number]
        agreements: Counter[int] = Counter()
        for other in nlargest(_MOST_RIVALS, others, key=lambda o: (equal[number, o], o)):
            both = own.keys() & contents_of[other].keys()
            pairs = [(own[base], contents_of[other][base]) for base in both]
            sameness.compare(pairs)
            agreements[other] = sum(starmap(sameness.are_same, pairs))
        # On a tie the latest wins: it is the one that the others repeat.
        yield number, max(agreements, key=lambda other: (agreements[other], other))


def _contents_in_common(
    siblings: Sequence[Mapping[Url, Url]], contents: Mapping[Url, int]
) -> list[dict[int, int]]:
    """Return the contents of each sibling's URLs that others have too, by a number for each."""
    times = Counter(chain.from_iterable(siblings))
    repeats = (base for base, count in times.items() if count > 1)
    numbers = {base: number for number, base in enumerate(repeats)}
    return [
        {numbers[base]: contents[url] for base, url in urls.items() if base in numbers}
        for urls in siblings
    ]


def _count_pairs(
    contents_of: Sequence[Mapping[int, int]],
) -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """Return in how many URLs two siblings can be compared, and in how many they are equal."""
    siblings_with: dict[int, list[int]] = defaultdict(list)
    for number, contents in enumerate(contents_of):
        for base in contents:
            siblings_with[base].append(number)
    common: Counter[tuple[int, int]] = Counter()
    equal: Counter[tuple[int, int]] = Counter()
    for base, numbers in siblings_with.items():
        by_content: dict[int, list[int]] = defaultdict(list)
        for number in numbers[-_MOST_SIBLINGS:]:
            by_content[contents_of[number][base]].append(number)
        common.update(combinations(numbers[-_MOST_SIBLINGS:], 2))
        for equals in by_content.values():
            equal.update(combinations(equals, 2))
    return common, equal
