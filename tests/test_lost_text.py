import random
from struct import iter_unpack

import pytest
from cases import each, examples

from dedup.lost_text import (
    LossyDrop,
    LostText,
    LostTextSample,
    Sequences,
    lost_with,
    sequences_of,
)
from dedup.methods.simhash import SimHash
from dedup.page import PageReader
from dedup.text import Document

WORDS = [f"w{number}" for number in range(20_000)]


def shingles(words, halvings=0):
    [sequences] = sequences_of([Document(" ".join(words))])
    return sequences.thinned(halvings)


def hashes_of(sequences):
    return [number for (number,) in iter_unpack("<Q", sequences.sample)]


def test_the_sequences_of_many_texts_are_those_of_each():
    chance = random.Random(1)
    lengths = [0, 1, 2, 3, 400, 0, *(chance.randrange(90) for _ in range(200))]
    texts = [Document(" ".join(chance.choices(WORDS[:40], k=length))) for length in lengths]
    alone = [sequences_of([text])[0] for text in texts]
    assert sequences_of(texts) == alone
    for text, own in zip(texts, alone, strict=True):
        tokens = text.tokens
        found = {tuple(tokens[at : at + 3]) for at in range(max(1, len(tokens) - 2))}
        assert own.different == len(set(hashes_of(own))) == len(found - {()})
        assert hashes_of(own) == sorted(hashes_of(own))
    assert sequences_of([]) == []


def test_what_is_read_first_has_all_sequences_and_later_ones_what_a_sample_has(monkeypatch):
    monkeypatch.setattr("dedup.lost_text.SEQUENCES_OF_A_SAMPLE", 500)
    texts = [" ".join(random.Random(seed).choices(WORDS, k=102)) for seed in range(200)]
    reader = PageReader(str, SimHash(), with_sequences=True)
    read = [page.sequences for text in texts for page in reader.read_texts([text])]
    whole = sequences_of([Document(text) for text in texts])
    assert read == [own.thinned(less.halvings) for own, less in zip(whole, read, strict=True)]
    assert [own.halvings for own in read] == sorted(own.halvings for own in read)
    assert (read[9].halvings, read[-1].halvings) == (0, 5)  # of 19,900 before it
    samples = [LostTextSample(500) for _ in range(2)]
    for sample, pages in zip(samples, (read, whole), strict=True):
        for number, own in enumerate(pages):
            sample.add_dropped(own) if number % 3 else sample.add_kept(own)
    assert samples[0].result() == samples[1].result()


def pages(seed, count=150):
    """Kept pages, and dropped ones that are copies of them with a few words more or other ones."""
    chance = random.Random(seed)
    kept = [chance.choices(WORDS, k=chance.randint(50, 400)) for _ in range(count)]
    dropped = []
    for original in kept:
        for _ in range(chance.randint(0, 3)):
            copy = list(original)
            for _ in range(chance.choice([0, 0, 1, 5])):
                copy[chance.randrange(len(copy))] = chance.choice(WORDS)
            dropped.append(copy + chance.choices(WORDS, k=chance.choice([0, 0, 0, 20])))
    return kept, dropped


def exact(kept, dropped):
    """The oracle: all sequences of all pages."""
    stored = {tuple(page[at : at + 3]) for page in kept for at in range(len(page) - 2)}
    all_of_them = [{tuple(page[at : at + 3]) for at in range(len(page) - 2)} for page in dropped]
    lost = sum(len(own - stored) for own in all_of_them)
    return sum(map(len, all_of_them)), lost


def sample_of(kept, dropped, most, seed=0):
    sample = LostTextSample(most)
    todo = [(sample.add_kept, page) for page in kept]
    todo += [(sample.add_dropped, page) for page in dropped]
    random.Random(seed).shuffle(todo)
    for add, page in todo:
        add(shingles(page))
    return sample


def test_a_sample_of_everything_is_exact():
    kept, dropped = pages(1)
    total, lost = exact(kept, dropped)
    assert sample_of(kept, dropped, 10**6).result() == LostText(total, lost / total, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("most", [500, 4000])
def test_the_exact_share_is_within_the_stated_error_in_95_of_100_crawls(most):
    within, crawls = 0, examples(100)
    for seed in range(crawls):
        kept, dropped = pages(seed, 40)
        total, lost = exact(kept, dropped)
        found = sample_of(kept, dropped, most, seed).result()
        assert found.sequences == total
        assert 0 < found.error < (0.15 if most == 500 else 0.05)
        within += abs(found.share - lost / total) <= found.error
    assert within >= 0.9 * crawls


def test_where_no_sequence_of_a_dropped_page_is_in_the_sample_nothing_is_known():
    sample = sample_of(pages(7)[0], ["these are words".split()], 100)
    assert sample.result() == LostText(1, 0.0, 1.0)


def test_of_many_drops_those_that_lost_most_are_named():
    sample = LostTextSample(10**6)
    for number in range(500):
        sample.add_dropped(shingles([f"w{number}x{at}" for at in range(2 + number)]), f"{number}")
    found = sample.lossiest(20)
    assert [drop.key for drop in found] == [f"{499 - number}" for number in range(20)]
    assert found[0] == LossyDrop("499", "", 499, 499)
    for keys in ("ab", "ba"):
        sample = LostTextSample()
        for key in keys:
            sample.add_dropped(shingles(WORDS[:9]), key)
        assert [drop.key for drop in sample.lossiest(1)] == ["a"]


def test_no_drop_is_named_by_a_few_sequences_that_it_lost_by_chance():
    sample = LostTextSample(2000)
    for number in range(1000):
        page = [f"w{number}x{at}" for at in range(100)]
        sample.add_kept(shingles(page))
        sample.add_dropped(shingles([*page[:90], *(f"o{number}x{at}" for at in range(10))]))
    whole = [f"lost{at}" for at in range(5000)]
    sample.add_dropped(shingles(whole), "a long one")
    [drop] = sample.lossiest(50)
    assert (drop.key, drop.lost) == ("a long one", 4998)


def test_no_more_drops_are_remembered_than_there_are_sequences_in_the_sample():
    sample = LostTextSample(1000)
    for number in range(3000):
        sample.add_dropped(shingles([f"w{number}x{at}" for at in range(5)]), f"{number}")
        assert len(sample._drops) <= len(sample) <= 1000
    assert len(sample._drops) > 300
    for number in range(3000):
        sample.add_kept(shingles([f"w{number}x{at}" for at in range(5)]))
    assert sample.lossiest() == []


def test_the_result_is_said_in_a_line():
    assert str(LostText(1_106_579, 0.025, 0.002)) == (
        "1,106,579 three-word sequences, 2.5 % (± 0.2) of them nowhere stored"
    )
    assert str(LostText(0, 0, 0)) == "no text"


@each(
    ("share", "error", "said"),
    [
        (0, 0, "0 %"),
        (0.1234, 0.0456, "12 % (± 4.6)"),
        (0.00034, 0.00011, "0.03 % (± 0.01)"),
        (0.00002, 0.00001, "below 0.01 % (± below 0.01)"),
    ],
)
def test_a_share_is_said_without_exponents_and_only_with_an_error_if_there_is_one(
    share, error, said
):
    assert LostText(1, share, error).percent == said


@each("halvings", [0, 1, 3, 7, 63])
def test_of_thinned_sequences_the_lowest_hashes_are_left_and_all_are_counted(halvings):
    for words in ([], ["one"], random.Random(11).choices(WORDS, k=5000)):
        whole = shingles(words)
        below = [number for number in hashes_of(whole) if number < 2**64 >> halvings]
        own = whole.thinned(halvings)
        assert (own.different, own.halvings, hashes_of(own)) == (whole.different, halvings, below)
        assert shingles(words, 5).thinned(halvings) == shingles(words, max(5, halvings))


@pytest.mark.slow
def test_a_hostile_text_takes_no_more_of_the_sample_than_others():
    sample = LostTextSample(5000)
    page = " ".join(f"{number:x}" for number in range(300_000))
    sample.add_kept(shingles(["a", "page", "of", "four"]))
    sample.add_dropped(shingles([page]), "long", "short")
    sample.add_dropped(shingles(["word"] * 100_000), "one word", "short")
    assert len(sample) <= 5000
    assert sample.result().sequences == 299_998 + 1
    assert sample.lossiest()[0] == LossyDrop("long", "short", 299_998, 299_998)
    assert all(len(own.sample) <= 8 * 5000 for *_, own in sample._drops)


def test_of_a_pair_the_later_text_is_dropped_unless_the_earlier_one_is():
    """As in a crawl: the third text is near the second one only, which is not kept."""
    texts = [shingles(f"{'a b c d e f'} {end}".split()) for end in ("g", "h", "h i", "x")]
    in_order = range(4)
    assert lost_with([(1, 0), (1, 2)], texts, in_order) == LostText(5, 0, 0)
    assert lost_with([(0, 1), (0, 2), (1, 2)], texts, in_order) == LostText(11, 3 / 11, 0)
    assert lost_with([], texts, in_order) == LostText(0, 0, 0)


def test_later_means_later_in_the_order_that_is_given():
    part, whole, other = (shingles(WORDS[:end]) for end in (10, 40, 39))
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert lost_with(pairs, [part, whole, other], [0, 1, 2]) == LostText(
        75, 30 / 38 * 38 / 75 + 29 / 75, 0
    )
    assert lost_with(pairs, [part, whole, other], [1, 2, 0]) == LostText(45, 0, 0)


@each("data", [b"", b"1234", bytes(6), bytes([1, 0, 0, 0, 0]) + bytes(16), bytes([9, 0, 0, 0, 64])])
def test_sequences_are_read_back_as_they_were_written(data):
    for own in (shingles([]), shingles("one two three four".split()), shingles(WORDS, 4)):
        assert Sequences.from_bytes(own.to_bytes()) == own
    with pytest.raises(ValueError, match="must be sequences as they were written"):
        Sequences.from_bytes(data)


def test_where_nothing_was_lost_the_error_is_not_nothing():
    kept, _ = pages(6)
    found = sample_of(kept, kept, 500).result()
    assert found.share == 0
    assert 0 < found.error < 0.05
