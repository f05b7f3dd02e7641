"""Collections of records that are hard to judge, and what a scan on one machine says of them."""

import random

from texts import article, edited

from dedup.evidence import Evidence
from dedup.evidence.evidence import digest_of_name
from dedup.page import PageReader
from dedup.record import PageRecord
from dedup.rule import Kind
from dedup.scan import Fate
from dedup.scan.record_judge import RecordJudge

COLUMNS = (
    "rank long, key string, scope string, tokens long, digest binary, sketch binary, "
    "evidence binary, is_binary boolean"
)


_KINDS = {
    Fate.EMPTY: Kind.SKIPPED,
    Fate.EXACT: Kind.EXACT,
    Fate.NEAR: Kind.NEAR,
    Fate.NEW: Kind.NEW,
}


def texts(chooser, count):
    """Return texts of which many are equal, near, short, empty or in other lines."""
    bases = [_with_stop_words(article(number, 60)) for number in chooser.sample(range(9999), 3)]
    made = ["", "short", "too short", "Too  short!"]
    for _ in range(count):
        text = chooser.choice(bases + made[-8:])
        words = text.split()
        change = chooser.randrange(8)
        if change == 0 and len(words) > 4:
            words[chooser.randrange(len(words))] = f"word{chooser.randrange(50)}"
            text = " ".join(words)
        elif change == 1:
            text = edited(text, f"w{chooser.randrange(9)}") if len(words) > 8 else text
        elif change == 2:
            text = "\n\n".join(" ".join(words[i : i + 9]) for i in range(0, len(words), 9))
        elif change == 3:
            text = " ".join(words[: chooser.randrange(len(words) + 1)])
        elif change == 4:
            text = text + " " + " ".join(f"more{n}" for n in range(chooser.randrange(30)))
        elif change == 5:
            text = text.upper()
        made.append(text)
    return chooser.sample(made, len(made))


def _with_stop_words(text):
    """Return *text* with the words by which some methods find what they compare."""
    return " ".join(f"the {word}" if n % 2 else word for n, word in enumerate(text.split()))


def records(method, seed, count=40):
    """Return records of random texts."""
    chooser = random.Random(seed)
    pages = PageReader(None, method).read_texts(texts(chooser, count))
    return [page.record.under(f"http://a/{place}") for place, page in enumerate(pages)]


def pages(method, seed, count=40):
    """Return records of pages of a few hosts, which show this and that besides their texts."""
    chooser = random.Random(seed)
    made = []
    for place, record in enumerate(records(method, seed, count)):
        evidence = Evidence(
            coverage=chooser.choice([0.2, 0.49, 0.6, 0.95, 1.0]),
            view=bytes([chooser.randrange(3)] * 16),
            size=chooser.choice([1000, 1100, 1500, 4000]),
            title=chooser.choice([b"", *(digest_of_name(name) for name in "aabc")]),
            headline=chooser.choice([b"", *(digest_of_name(name) for name in "xxyz")]),
        ).to_bytes()
        key = f"http://{seed}.host{chooser.randrange(2)}.example/{place}"
        made.append(record.under(key)._replace(evidence=chooser.choice([None, *[evidence] * 7])))
    binary = [PageRecord("b", digest=bytes([n % 2] * 16), is_binary=True) for n in range(4)]
    return chooser.sample(made + binary, len(made) + 4)


def expected(method, rule, collection, *, has_pages=True):
    """Return what a scan says of *collection*: by rank, the verdict, original and distance."""
    judge = RecordJudge(method, rule, has_pages=has_pages)
    ranks = range(len(collection))
    # Fates are by number, and there must be one for each.
    judge.outcome.fates.extend(Fate.NEW for _ in ranks)
    for start in range(0, len(ranks), 7):
        judge.judge(ranks[start : start + 7], collection[start : start + 7])
    outcome = judge.outcome
    matches = dict(
        zip(outcome.duplicates, zip(outcome.originals, outcome.distances, strict=True), strict=True)
    )
    return [
        (rank, _KINDS[Fate(fate)].value, *matches.get(rank, (None, None)))
        for rank, fate in enumerate(outcome.fates)
    ]
