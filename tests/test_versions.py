"""Versions in URLs, by tables and as packaging orders them."""

from cases import each
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from dedup.versions import NO_VERSION, WORST_RANK, is_version, version_rank


@each(
    "names",
    [
        ["latest", "stable", "current", "guide", "3.0", "2.x", "2.9", "1.x", "dev"],
        ["v1.11.0", "v1.10.0", "v1.9.0", "v1.1.1", "v1.1.0", "next"],
        ["8.1.x", "8.0.x", "7.x", "v7.2", "v6"],
        ["2024.10.1", "2024.9", "2023.12", "2024.11rc1", "main"],
        ["version-2.1", "version-2.0", "release-1.9", "v1.8-beta.2", "nightly"],
        ["1.0", "0.9", "1.1a2", "1.0-SNAPSHOT"],
        ["V2.1", "v2.0", "DEV"],
    ],
)
def test_versions_are_sorted_from_the_recommended_to_the_unfinished(names):
    ranks = [version_rank(name) for name in names]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)


@each(
    "name",
    ["", "2024", "12", "0042", "print", "v", "x", "2.x.y", "1-2", "latest-news", "1." * 30],
)  # fmt: skip
def test_what_is_no_version_ranks_between_the_current_and_the_numbered_ones(name):
    assert not is_version(name)
    assert version_rank(name) == NO_VERSION
    assert version_rank("current") < NO_VERSION < version_rank("v99.99")


numbers = st.lists(st.integers(0, 4095), min_size=2, max_size=3)


@given(numbers, numbers)
def test_releases_are_sorted_as_packaging_sorts_them(first, second):
    one, other = (".".join(map(str, release)) for release in (first, second))
    assert (version_rank(one) < version_rank(other)) == (Version(one) > Version(other))


@given(st.text(max_size=60) | st.from_regex(r"v?[\d.]+(x|rc\d*)?", fullmatch=True))
def test_any_text_has_a_rank_within_its_limits(segment):
    assert 0 <= version_rank(segment) <= WORST_RANK


def test_a_number_longer_than_python_reads_is_no_version():
    assert version_rank(f"1.{'9' * 5000}") == NO_VERSION
