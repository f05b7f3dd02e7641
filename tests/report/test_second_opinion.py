"""What the most exact method says of near misses."""

from report_of import page
from texts import article, edited

from dedup.report.report import NearMiss, SecondOpinion
from dedup.report.second_opinion import second_opinion
from dedup.rule import Kind, Verdict


def stored(texts, *pages):
    for number, text in enumerate(pages):
        texts.record(Verdict(Kind.NEW, "simhash"), str(number), page(text))
    return texts


def test_it_counts_the_pairs_that_it_calls_near(open_store):
    texts = stored(open_store(9), article(1), edited(article(1)), article(2))
    pairs = [NearMiss("0", "1", 4), NearMiss("0", "2", 5), NearMiss("1", "unknown", 5)]
    assert second_opinion(pairs, texts, "simhash") == SecondOpinion("verified", 2, 1)


def test_nobody_asks_the_method_itself_or_without_texts(open_store):
    pairs = [NearMiss("0", "1", 4)]
    assert second_opinion(pairs, stored(open_store(9), article(1), article(1)), "verified") is None
    assert second_opinion(pairs, open_store(0), "simhash") is None
    assert second_opinion([], open_store(0), "simhash") is None
