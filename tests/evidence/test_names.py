import pytest

from dedup.evidence import Evidence, Names

PAGE = Evidence(1, b"the view of one.", 1000, b"name", b"head")


def test_a_name_that_few_pages_have_stays_one():
    names = Names()
    for number in range(200):
        title = b"name" if number % 8 == 0 else b"%4d" % number
        names.learn("a", PAGE._replace(title=title, headline=b""))
    assert not names.is_common("a", b"name")


@pytest.mark.parametrize("share", [2, 3])
def test_a_common_name_is_known_after_any_number_of_others(share):
    names = Names()
    for number in range(1000):
        title = b"site" if number % share == 0 else b"%4d" % number
        names.learn("a", PAGE._replace(title=title, headline=b""))
    assert names.is_common("a", b"site")


def test_of_too_many_hosts_the_oldest_is_forgotten():
    names = Names()
    names.hosts = 3
    for host in "abcd":
        for _ in range(8):
            names.learn(host, PAGE)
    assert [names.is_common(host, b"name") for host in "abcd"] == [False, True, True, True]
