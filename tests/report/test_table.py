"""The table of a report."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from dataclasses import replace

import pytest
from report_of import SETTINGS, exact, near, new
from rich.cells import cell_len

from dedup.report import as_text
from dedup.report.report import StageTime
from dedup.rule import Kind, Verdict


def row(table, label):
    """The value beside *label*, the lines of it joined."""
    cells = [line.split("|")[1:3] for line in table.splitlines() if line.count("|") == 3]
    start = next(i for i, (name, _) in enumerate(cells) if name.strip() == label)
    value = [cells[start][1].strip()]
    for name, text in cells[start + 1 :]:
        if name.strip():
            break
        value.append(text.strip())
    return "\n".join(value)


def test_an_empty_crawl_has_a_table(summary, detector):
    table = as_text(summary.finish(detector))
    assert "Duplicates in this crawl" in table
    assert row(table, "pages") == "0 (0.0 pages a second)"
    assert row(table, "method") == "simhash, distance at most 3"
    assert row(table, "other settings") == "scope=crawl"


def test_the_table_shows_the_settings_that_are_not_the_defaults(summary, detector):
    defaults = {**SETTINGS, "DEDUP_WORKERS": 1, "DEDUP_REPORT": "reports"}
    settings = {**defaults, "DEDUP_SCOPE": "host", "DEDUP_REPORT": ""}
    report = replace(summary.finish(detector), settings=settings)
    assert row(as_text(report, defaults), "other settings") == "scope=host, report="
    assert row(as_text(report, settings), "other settings") == "the defaults"


@pytest.mark.parametrize("width", [60, 100, 160])
def test_what_is_too_long_goes_on_in_the_next_line_and_every_line_is_as_wide(
    summary, detector, width
):
    words = " ".join(["a", "few", "words"] * 30)
    settings = {**SETTINGS, "DEDUP_A": words, "DEDUP_B": "米粉" * 100, "DEDUP_C": "x" * 300}
    settings |= {"DEDUP_METHOD": "粉" * (width // 2), "DEDUP_MAX_DISTANCE": None}
    table = as_text(replace(summary.finish(detector), settings=settings), SETTINGS, width=width)
    assert {cell_len(line) for line in table.splitlines()[1:]} == {width}
    assert row(table, "method").replace("\n", "") == settings["DEDUP_METHOD"]
    told = row(table, "other settings").replace("\n", " ")
    assert told.startswith(f"a={words}, b=米粉")
    assert told.replace(" ", "").endswith(f",b={'米粉' * 100},c={'x' * 300}")


def test_long_urls_lack_their_middle_in_a_table_of_any_width(summary, detector):
    first, last = "http://a.example/%E7%B1%B3%E7%B2%89/", "/the-end.html"
    url = f"{first}{'long/' * 100}{last}"
    summary.record(near(url, 3), f"{url}2", 10)
    report = summary.finish(detector)
    for width in (60, 100, 160):
        table = as_text(report, width=width)
        original, copy = row(table, "group of 2").split("\n")
        assert original.startswith("http://a.")
        assert original.endswith(last[-8:])
        assert copy.endswith("(distance 3)")
        assert max(map(len, table.splitlines())) == width
    assert "http://a.example/米粉/long" in table
    assert report.largest_groups[0].original == url


@pytest.mark.slow
def test_the_table_is_as_wide_as_the_terminal():
    script = "import sys; from dedup.report.table import log_width; print(log_width())"
    main, terminal = pty.openpty()
    for columns, width in ((80, 80), (20, 60), (400, 160)):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [sys.executable, "-c", script]
        shown = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, check=True)
        assert int(shown.stdout) == width
    shown = subprocess.run(command, capture_output=True, check=True)
    assert int(shown.stdout) == 100
    os.close(main)
    os.close(terminal)


def test_the_table_shows_counts_with_their_shares(summary, detector):
    for verdict in [new()] * 1500 + [exact("http://a/")] * 300 + [near("http://a/", 2)] * 200:
        summary.record(verdict, "http://b/", 10)
    table = as_text(summary.finish(detector))
    assert row(table, "new") == "1,500 (75.0%)"
    assert row(table, "exact duplicates") == "300 (15.0%)"
    assert row(table, "near-duplicates") == "200 (10.0%)"
    assert row(table, "duplicates by host") == "b: 500"


def test_the_table_shows_skipped_and_unread_pages_by_reason(summary, detector):
    summary.record(Verdict(Kind.SKIPPED, "simhash", reason="too_short"), "http://a/", 5)
    summary.count("unread/timeout", 3)
    table = as_text(summary.finish(detector))
    assert row(table, "skipped (kept)") == "1 (100.0%): too short: 1"
    assert row(table, "pages not read") == "timeout: 3"


STEPS = ("0 to 0.05", "0.05 to 0.1", "0.1 to 0.15", "0.35 to 0.4")


def test_shares_and_wide_distances_are_counted_in_steps(summary, detector):
    for distance in (0.0, 0.123, 0.125, 0.35):
        summary.record(near("http://a/", distance), "http://b/", 10)
    report = summary.finish(detector)
    assert report.distances == {0: 1, 0.13: 2, 0.35: 1}
    table = as_text(report)
    assert [row(table, f"distance {step}")[-1] for step in STEPS] == list("1021")
    for distance in (3, 59):
        summary.record(near("http://a/", distance), "http://b/", 10)
    table = as_text(summary.finish(detector))
    assert [row(table, f"distance {s} to {s + 3}")[-1] for s in (0, 3, 57)] == list("411")


def test_whole_distances_are_counted_in_steps_if_they_are_many(summary, detector):
    for distance in (0, 1, 30):
        summary.record(near("http://a/", distance), "http://b/", 10)
    table = as_text(summary.finish(detector))
    assert [row(table, f"distance {s} to {s + 2}")[-1] for s in (0, 2, 30)] == list("201")


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_900, "1.0 MB"),
        (1_000_000, "1.0 MB"),
        (12_300_000_000, "12.3 GB"),
    ],
)
def test_what_is_saved_is_told_in_a_fitting_unit(summary, detector, size, shown):
    summary.record(near("http://a/", 1), "http://b/", size)
    assert row(as_text(summary.finish(detector)), "saved").startswith(f"{shown} not stored")


def test_the_bars_of_distances_are_as_long_as_their_counts(summary, detector):
    for distance, count in [(1, 30), (3, 1)]:
        for _ in range(count):
            summary.record(near("http://a/", distance), "http://b/", 10)
    table = as_text(summary.finish(detector))
    bars = [row(table, f"distance {distance}") for distance in range(4)]
    assert bars == ["0", "#" * 30 + " 30", "0", "# 1"]


@pytest.mark.parametrize(
    "hostile", ["[bold]x[/bold]", "[/]", "[/red]", "[link=http://evil/]", "\\[b]", ":smile:", "{0}"]
)
def test_markup_in_urls_is_shown_as_it_is(summary, detector, hostile):
    url = f"http://a{hostile}/{hostile}"
    summary.record(near(url, 2), f"{url}2", 10)
    table = as_text(summary.finish(detector))
    assert row(table, "group of 2") == f"{url}\n= {url}2 (distance 2)"
    assert "\x1b" not in table


def test_the_table_tells_exact_copies_from_near_ones(summary, detector):
    summary.record(exact("http://a/"), "http://b/", 10)
    summary.record(near("http://a/", 0), "http://c/", 10)
    lines = row(as_text(summary.finish(detector)), "group of 3").splitlines()
    assert lines == ["http://a/", "= http://b/ (exact)", "= http://c/ (distance 0)"]


def test_only_some_copies_and_hosts_are_shown(summary, detector):
    for number in range(9):
        summary.record(exact("http://a/"), f"http://host{number}/", 10)
    table = as_text(summary.finish(detector))
    assert row(table, "group of 10").endswith("and 6 more")
    assert row(table, "duplicates by host").endswith("and 4 more")


def test_the_table_is_ascii_and_fits_its_width(summary, detector):
    summary.record(near("http://a/" + "x" * 480, 2), "http://b/" + "y" * 5000, 10**9)
    summary.record_time("extraction", 0.01)
    table = as_text(summary.finish(detector))
    assert table.isascii()
    assert max(map(len, table.splitlines())) <= 100
    assert table.count("y") < 500  # what is longer is cut in its middle


def test_times_are_shown_without_exponents_and_waiting_without_a_sum(summary, detector):
    times = {"extraction": StageTime(9, 1.47, 3.06, 37), "waiting": StageTime(9, 0.5, 2, 963)}
    table = as_text(replace(summary.finish(detector), seconds_per_page=times))
    assert row(table, "time: extraction") == "median 1.47 s, 95 % within 3.06 s, sum 37 s"
    assert row(table, "time: waiting") == "median 500 ms, 95 % within 2 s"


def test_a_stage_of_unknown_times_is_shown(summary, detector):
    report = replace(summary.finish(detector), seconds_per_page={"x": StageTime(0, None, None, 0)})
    assert row(as_text(report), "time: x") == "median -, 95 % within -, sum 0 ms"
