"""The table of a report."""

from report_of import changed, dropped_text, exact, near, new

from dedup.report import as_text
from dedup.rule import Kind, Verdict


def row(table, label):
    """What stands beside *label*."""
    [value] = [line[22:] for line in table.splitlines() if line[:22].strip() == label]
    return value


def test_it_fits_a_screen_with_everything_there_is_to_tell(summary, detector):
    for number in range(30):
        summary.record(near(f"http://a/{number}", 3), f"http://b/{number}", 10)
    for kind in (Kind.UNCHANGED, Kind.CHANGED, Kind.REPEATED):
        summary.record(Verdict(kind, "simhash"), "http://c/", 10)
    summary.record(Verdict(Kind.SKIPPED, "simhash", reason="empty"), "http://d/", 10)
    for name in ("errors", "unread/crash", "links_held_back", "items/marked", "preferred"):
        summary.count(name)
    summary.count("objections/weak_evidence")
    report = changed(summary.finish(detector.follower.view, detector.store), texts_lost=1)
    lines = as_text(report).splitlines()
    assert len(lines) < 24
    assert [line for line in lines if line.startswith("group of")] == [
        f"group of 2            http://a/{number}" for number in range(5)
    ]
    assert row("\n".join(lines), "groups in all") == "30"


def test_long_urls_lack_their_middle_in_the_table(summary, detector):
    first, last = "http://a.example/%E7%B1%B3%E7%B2%89/", "/the-end.html"
    url = f"{first}{'long/' * 100}{last}"
    summary.record(near(url, 3), f"{url}2", 10)
    report = summary.finish(detector.follower.view, detector.store)
    table = as_text(report)
    original = row(table, "group of 2")
    assert original.startswith("http://a.example/米")
    assert original.endswith(last)
    assert max(map(len, table.splitlines())) == 100
    assert report.largest_groups[0].original == url


def test_the_table_shows_counts_with_their_shares_and_reasons(summary, detector):
    for verdict in [new()] * 1500 + [exact("http://a/")] * 300 + [near("http://a/", 2)] * 199:
        summary.record(verdict, "http://b/", 10)
    summary.record(Verdict(Kind.SKIPPED, "simhash", reason="too_short"), "http://a/", 5)
    summary.count("unread/timeout", 3)
    table = as_text(summary.finish(detector.follower.view, detector.store))
    assert row(table, "new") == "1,500 (75.0%)"
    assert row(table, "exact duplicates") == "300 (15.0%)"
    assert row(table, "skipped (kept)") == "1 (0.1%): too short: 1"
    assert row(table, "pages not read") == "timeout: 3"


def test_lost_text_is_told_in_numbers(summary, detector):
    report = summary.finish(detector.follower.view, detector.store)
    for error, about in ((0, ""), (0.01, "about ")):
        text = dropped_text(2, 0, 11_880, 9 / 11_880, error, False)
        told = row(as_text(changed(report, dropped_text=text)), "text dropped")
        assert told == f"{about}9 of 11,880 word sequences are nowhere else"
