import math

from cases import each
from hypothesis import given
from hypothesis import strategies as st
from pairs import distance, matches
from texts import article

from dedup.methods.segments import Segments
from dedup.text import Document


def with_words_changed(text, places):
    words = text.split(" ")
    for place in places:
        words[place] = f"changed{place}"
    return " ".join(words)


@given(st.permutations(range(8)))
def test_paragraphs_in_another_order_still_match(order):
    paragraphs = [article(number, 30) for number in range(8)]
    shuffled = [paragraphs[number] for number in order]
    assert distance(Segments(mode="paragraphs"), "\n".join(paragraphs), "\n".join(shuffled)) == 0


@each("edits", range(11))
def test_as_many_edits_survive_as_may_differ_of_10_equal_segments(edits):
    # 200 words in 10 segments of 20, and one word changed in some of them: 7 have to stay equal.
    text = article(1, 200)
    changed = with_words_changed(text, range(5, 20 * edits, 20))
    method = Segments(0.3, mode="equal", segments=10)
    assert matches(method, text, changed) == (edits <= 3)
    assert distance(method, text, changed) == (edits / 10 if edits <= 8 else math.inf)


@given(st.integers(0, 50), st.integers(1, 20))
def test_equal_segments_have_as_many_words_each_and_leave_none_out(words, count):
    tokens = [f"token{number:05}" for number in range(words)]
    method = Segments(mode="equal", segments=count)
    segments = list(method.weighted_features(Document(" ".join(tokens))))
    assert "".join(segments) == "".join(tokens)
    assert len(segments) == min(count, words)
    assert not segments or max(map(len, segments)) - min(map(len, segments)) <= 10


def test_a_repeated_paragraph_counts_as_often_as_it_is_there():
    one, other = article(1, 20), article(2, 20)
    method = Segments(1, mode="paragraphs", min_equal=1)
    assert (
        distance(method, "\n".join([one, one, one, other]), "\n".join([one, other, other])) == 1 / 3
    )


def test_a_segment_of_fewer_than_10_letters_does_not_count():
    method = Segments(mode="paragraphs", min_equal=1)
    assert method.sketch(Document.from_main_text("nine, lettr\n123456789")) is None
    assert len(method.sketch(Document.from_main_text("nine, letter\n123456789"))) == 1


def test_pages_with_too_few_equal_segments_are_infinitely_far():
    shared, *own = (article(number, 30) for number in range(3))
    texts = [f"{shared}\n{other}" for other in own]
    assert distance(Segments(1, mode="paragraphs", min_equal=2), *texts) == math.inf
    assert distance(Segments(1, mode="paragraphs", min_equal=1), *texts) == 0.5
    too_few = Segments(mode="paragraphs", min_equal=3)
    assert too_few.sketch(Document.from_main_text(texts[0])) is None
