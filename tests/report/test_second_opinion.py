"""What the most exact method says of near misses."""

from report_of import miss, page
from texts import article, edited

from dedup.report.second_opinion import second_opinion
from dedup.rule import Kind, Verdict


def stored(texts, *pages):
    for number, text in enumerate(pages):
        texts.record(Verdict(Kind.NEW, "simhash"), str(number), page(text))
    return texts


def test_it_counts_the_pairs_that_it_calls_near(open_store):
    texts = stored(open_store(9), article(1), edited(article(1)), article(2))
    pairs = [miss("0", "1", 4), miss("0", "2", 5), miss("1", "unknown", 5)]
    assert second_opinion(pairs, texts, "simhash") == {
        "method": "verified", "compared": 2, "near": 1,
    }  # fmt: skip


def test_nobody_asks_the_method_itself_or_without_texts(open_store):
    pairs = [miss("0", "1", 4)]
    assert second_opinion(pairs, stored(open_store(9), article(1), article(1)), "verified") is None
    assert second_opinion(pairs, open_store(0), "simhash") is None
    assert second_opinion([], open_store(0), "simhash") is None
