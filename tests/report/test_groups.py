from dedup.report.groups import Groups
from dedup.report.report import Copy, Group


def filled(duplicates, **limits):
    """Groups after the duplicates, given as originals, in that order."""
    groups = Groups(**limits)
    for number, original in enumerate(duplicates):
        groups.add(original, Copy(f"url{number}", "near-duplicate", 2))
    return groups


def test_duplicates_are_gathered_by_original():
    assert filled("aba").largest(9) == (
        Group("a", 2, (Copy("url0", "near-duplicate", 2), Copy("url2", "near-duplicate", 2))),
        Group("b", 1, (Copy("url1", "near-duplicate", 2),)),
    )


def test_the_largest_come_first_and_the_older_among_equals():
    largest = filled("abbccddd").largest(3)
    assert [(group.original, group.duplicates) for group in largest] == [
        ("d", 3),
        ("b", 2),
        ("c", 2),
    ]


def test_the_urls_of_a_group_are_limited_and_its_size_is_not():
    first = (Copy("url0", "near-duplicate", 2), Copy("url1", "near-duplicate", 2))
    assert filled("a" * 50, copies_per_group=2).largest(1) == (Group("a", 50, first),)


def test_the_smaller_half_is_forgotten_at_the_limit():
    groups = filled("abbcccdddde", limit=4)
    assert [group.original for group in groups.largest(9)] == ["d", "c", "e"]
    assert (len(groups), groups.forgotten) == (5, 2)


def test_a_forgotten_group_starts_again():
    groups = filled("abbcccdddde" + "b", limit=4)
    assert [(group.original, group.duplicates) for group in groups.largest(9)] == [
        ("d", 4),
        ("c", 3),
        ("e", 1),
        ("b", 1),
    ]


def test_a_known_group_makes_nobody_forgotten():
    assert filled("abcd" * 10, limit=4).forgotten == 0


def test_the_number_of_groups_held_is_bounded():
    groups = filled((str(i) for i in range(10_000)), limit=100)
    assert len(groups.largest(10_000)) <= 100
    assert len(groups) == 10_000


def test_without_duplicates_there_are_no_groups():
    assert (len(Groups()), Groups().largest(5)) == (0, ())
