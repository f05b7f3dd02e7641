from cases import each

from dedup.history.near_urls import MOST_NEAR_URLS, nearest_urls


@each(
    ("asked", "known", "rank"),
    [
        ("http://a/b", "https://www.a/b/", 0),
        ("http://a/B%2FÉ", "http://a/b/%C3%A9", 0),
        ("http://a:80/b?x=1#c", "http://a/b?x=1", 0),
        ("http://a/b?x=1", "http://a/b?x=2", 1),
        ("http://a/b/c", "http://b/b/c", 2),
        ("http://a/b/c", "http://a/d/c", 3),
        ("http://a/b/c", "http://a/b/d", None),
        ("http://a/", "http://b/", None),  # of homepages, one says nothing of another
        ("http://[a/b", "http://a/b", 3),
        ("article 7", "Article 7", 0),  # a key that is no URL
    ],
)
def test_urls_are_near_by_what_people_write_in_several_ways(asked, known, rank):
    assert [near.rank for near in nearest_urls(asked, [known])] == [rank] * (rank is not None)


def test_the_nearest_come_first_and_are_few():
    known = [f"http://{n}/b/c" for n in range(50)] + [
        "http://a/b/c?x",
        "http://A/b/c",
        "http://A/b/c",
    ]
    found = nearest_urls("http://a/b/c", known)
    assert [near.url for near in found[:2]] == ["http://A/b/c", "http://a/b/c?x"]
    assert len(found) == MOST_NEAR_URLS
    assert {near.likeness for near in found[2:]} == {"the same path on another host"}
