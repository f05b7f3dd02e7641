"""Which copy is better, by tables."""

from cases import each
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from dedup.preference import (
    NO_VERSION,
    Copy,
    Preference,
    are_same_url,
    canonical,
    clean_url,
    https,
    is_version,
    longest,
    newest,
    newest_version,
    shorter_url,
    version_rank,
)


def ranks(criterion, *urls):
    return [criterion(Copy(url)) for url in urls]


@each(
    ("clean", "dirty"),
    [
        ("http://a/cinema.html", "http://a/cinema.html;jsessionid=4F9A21C07B"),
        ("http://a/b", "http://a/b?PHPSESSID=1"),
        ("http://a/b?id=7", "http://a/b?sid=77b3e0"),
        ("http://a/b?id=7&page=2", "http://a/b?utm_source=mail"),
        ("http://a/b?id=7", "http://a/b?id=7&page=2"),
        ("http://a/tea.html", "http://a/print/tea.html"),
        ("http://a/tea.html", "http://a/tea.amp.html"),
        ("http://a/tea.html", "http://a/tea.html?view=print"),
        ("http://a/ferry.html", "http://a/ferry-reprint.html"),
    ],
)
def test_a_clean_url_ranks_before_the_same_page_with_a_marker_or_more_parameters(clean, dirty):
    assert clean_url(Copy(clean)) < clean_url(Copy(dirty))


@each("path", ["printing-press.html", "blueprint.html", "b/sprint/", "example/", "fingerprint"])
def test_words_that_contain_print_or_amp_are_no_markers(path):
    assert clean_url(Copy(f"http://a/{path}")) == 0


@each(
    "urls",
    [
        ["http://a/latest/b", "http://a/v1.9.0/b", "http://a/v1.8.2/b", "http://a/dev/b"],
        ["http://a/docs/b", "http://a/docs/v1.11.0/b", "http://a/docs/v1.9.0/b", "http://a/docs/next/b"],
        ["http://a/docs/2.x/b/v3/", "http://a/docs/2.1/b/v9/"],
        ["http://docs.example.org/b", "http://v2.docs.example.org/b", "http://next.docs.example.org/"],
        ["http://a/en/stable/", "http://a/en/8.1.x/", "http://a/en/7.x/"],
        ["http://a/archive/2024/b", "http://a/1.2/archive/"],
    ],
)  # fmt: skip
def test_newer_versions_rank_before_older_ones(urls):
    ranked = [newest_version(Copy(url)) for url in urls]
    assert ranked == sorted(set(ranked))


@each(
    ("url", "names", "rank"),
    [
        ("http://a/b", None, 0),
        ("http://a/b", "", 0),
        ("http://a/b", "http://a/b", 0),
        ("http://a/b?x=1&y=2", "http://A/b?y=2&x=1#part", 0),
        ("http://a/b", "http://a/c", 1),
        ("http://a/b", "https://a/b", 1),
        ("http://a/b", "http://[", 1),
        ("http://a/b" + "c" * 3000, "http://a/b" + "c" * 3001, 1),
    ],
)
def test_a_page_that_names_another_as_canonical_ranks_behind(url, names, rank):
    assert canonical(Copy(url, names)) == rank
    assert are_same_url(url, url)


def test_https_length_and_date():
    assert ranks(https, "https://a/", "HTTPS://a/", "http://a/") == [0, 0, 1]
    assert ranks(shorter_url, "http://a/b", "http://a/bc") == [10, 11]
    assert longest(Copy("", length=9)) < longest(Copy("", length=8)) < longest(Copy(""))
    dates = [2e11, 1.8e9 + 1e-3, 1.8e9, 9.5, 9.25, 0.0, -1.0, -6e10, None]  # years 8307 to 68
    by_date = [newest(Copy("", date=date)) for date in dates]
    assert by_date == sorted(set(by_date))


def test_ranks_of_a_criterion_of_ones_own_are_kept_within_the_limits():
    preference = Preference(
        {"a": lambda copy: -3, "b": lambda copy: 2**70, "c": lambda copy: True}.items()
    )
    rank = preference.rank(Copy("http://a/"))
    assert rank == bytes(8) + b"\xff" * 8 + bytes(7) + b"\1"
    assert preference.limit == 1 << 8 * len(rank)


@each(
    "names",
    [
        ["latest", "stable", "current", "guide", "3.0", "2.x", "2.9", "1.x", "dev"],
        ["v1.11.0", "v1.10.0", "v1.9.0", "v1.1.1", "v1.1.0", "next"],
        ["8.1.x", "8.0.x", "7.x", "v7.2", "v6"],
        ["2024.10.1", "2024.9", "2023.12", "2024.11rc1", "main"],
        ["version-2.1", "version-2.0", "release-1.9", "v1.8-beta.2", "nightly"],
        ["1.0.post1", "0.9", "1.1a2", "1.2-SNAPSHOT"],
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
    assert 0 <= version_rank(segment) < 1 << 40
