from collections import Counter
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dedup.methods.digests import digests
from dedup.methods.spotsigs import SpotSigs, find_spots
from dedup.text import Document, tokenise

OBAMA = (
    "At a rally to kick off a weeklong campaign for the South Carolina primary, Obama tried to set "
    "the record straight from an attack circulating widely on the Internet that is designed to "
    "play into"
)


def spots(text, **antecedents):
    return list(find_spots(tokenise(text.lower()), antecedents))


def jaccard(one, other):
    """The multiset Jaccard similarity, as a fraction."""
    one, other = Counter(one), Counter(other)
    return Fraction((one & other).total(), (one | other).total())


def test_the_sentence_of_the_paper_has_its_seven_spots():
    found = spots(OBAMA, a=(1, 2), an=(1, 2), the=(1, 2), **{"is": (1, 2)})
    told = (
        "a:rally:kick a:weeklong:campaign an:attack:circulating is:designed:play "
        "the:internet:designed the:record:straight the:south:carolina"
    )
    assert sorted(found) == told.split()
    assert spots("the ferry boat carried cattle", the=(2, 2)) == ["the:boat:cattle"]


def test_a_page_with_fewer_spots_has_no_sketch():
    sentence = "the quick brown fox jumped"
    assert SpotSigs().sketch(Document(" ".join([sentence] * 3))) is None
    assert len(SpotSigs().sketch(Document(" ".join([sentence] * 4)))) == 4
    assert len(SpotSigs(min_spots=1).sketch(Document(sentence))) == 1


def test_text_around_counts_only_where_it_meets_an_unfinished_chain():
    article = f"{OBAMA} history again soon ".lower()
    with_ads = f"buy cheap watches {article} home contact imprint login"
    sketches = [SpotSigs().sketch(Document(text)) for text in (article, with_ads)]
    assert SpotSigs().distance(*sketches) == 0


@given(st.lists(st.sampled_from("abc"), min_size=1), st.lists(st.sampled_from("abc"), min_size=1))
def test_the_distance_is_that_of_multisets(one, other):
    found = SpotSigs().distance(digests(one), digests(other))
    assert found == float(1 - jaccard(one, other))
