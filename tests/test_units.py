import pytest
from cases import each

from dedup.units import Count, format_bytes, format_seconds


@each(
    ("show", "values"),
    [
        (
            format_bytes,
            {0: "0 B", 999: "999 B", 1000: "1.0 kB", 99_900: "99.9 kB", 123_456: "123 kB"},
        ),
        (format_bytes, {1e9: "1.0 GB", 5e15: "5000 TB"}),
        (format_seconds, {None: "–", 0: "0 ms", 0.25: "250 ms", 1: "1 s", 119: "119 s"}),
        (format_seconds, {120: "2 min", 7199: "120 min", 7200: "2 h"}),
        (format_seconds, {0.9994: "999 ms", 0.9997: "1 s", 1e8: "27,778 h"}),
    ],
)
def test_numbers_are_shown_shortly_in_a_fitting_unit(show, values):
    assert {value: show(value) for value in values} == values


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "0 pages are kept"), (1, "1 page is kept"), (1200, "1,200 pages are kept")],
)
def test_a_count_names_what_it_counts_in_the_singular_or_the_plural(number, told):
    assert f"{Count(number):page is|pages are} kept" == told
    assert f"{Count(number)}" == told.partition(" ")[0]
    assert f"{Count(number):5}".strip() == str(number)
