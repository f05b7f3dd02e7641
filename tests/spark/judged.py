"""Collections of records that are hard to judge, and what a scan on one machine says of them."""

import random

from ledgers import records_of
from texts import article, edited

from dedup.evidence import Evidence
from dedup.evidence.evidence import digest_of_name, digest_of_title
from dedup.methods import FingerprintMethod
from dedup.record import PageRecord
from dedup.scan import Fate
from dedup.scan.record_judge import RecordJudge

COLUMNS = (
    "row long, key string, scope string, tokens long, digest binary, sketch binary, "
    "evidence binary, is_binary boolean, item binary"
)


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
    return read(method, texts(random.Random(seed), count))


def pages(method, seed, count=40):
    """Return records of pages of a few hosts, which show this and that besides their texts."""
    chooser = random.Random(seed)
    made = [_shown(record, seed, chooser) for record in records(method, seed, count)]
    binary = [PageRecord("b", digest=bytes([n % 2] * 16), is_binary=True) for n in range(4)]
    return chooser.sample(made + binary, len(made) + 4)


def _shown(record, seed, chooser):
    """Return *record* as that of a page of some host, which shows this and that, or of nothing."""
    evidence = Evidence(
        coverage=chooser.choice([0.2, 0.49, 0.6, 0.95, 1.0]),
        view=bytes([chooser.randrange(3)] * 16),
        size=chooser.choice([1000, 1100, 1500, 4000]),
        title=digest_of_title(chooser.choice(["", "a", "a", "b", "a | s", "b | s", "c | t"])),
        headline=chooser.choice([b"", *(digest_of_name(name) for name in "xxyz")]),
    ).to_bytes()
    key = f"http://{seed}.host{chooser.randrange(2)}.example/{record.key[9:]}"
    return record.under(key)._replace(evidence=chooser.choice([None, *[evidence] * 7]))


def hot(method, seed):
    """Return records of which so many share each key that not all are compared with all.

    No more than 100 of them have evidence: of what has had so many objections as nobody is asked
    any more, a scan and Spark may say different things.
    """
    chooser = random.Random(seed)
    base = _with_stop_words(article(seed, 60)).split()
    size = 90 if method.candidates_per_key else chooser.randrange(270, 330)
    share = chooser.choice([0.02, 0.1, 0.4])
    texts = []
    for _ in range(size):
        own = [f"own{chooser.randrange(999)}" if chooser.random() < share else w for w in base]
        texts.append(" ".join(chooser.choice([own, own, base])))
    made = read(method, texts)
    if isinstance(method, FingerprintMethod):
        middle = chooser.getrandbits(method.bits)
        places = chooser.sample(range(method.bits), 12)
        for number, record in enumerate(made):
            flips = sum(1 << place for place in chooser.sample(places, chooser.randrange(7)))
            made[number] = record._replace(sketch=method.to_bytes(middle ^ flips))
    if chooser.random() < 0.5:
        for number in chooser.sample(range(size), min(size, 100)):
            made[number] = _shown(made[number], seed, chooser)
    return made


def huge(method, seed):
    """Return records of texts of which some are huge, and nearly so."""
    chooser = random.Random(seed)
    text = article(seed, chooser.choice([5_000, 20_000]))
    others = [text, edited(text), f"{text} and more", text.upper(), article(seed + 1, 3_000), "a"]
    return read(method, chooser.choices(others, k=8))


def repeated(method, seed):
    """Return records of a few texts, each many times, with this and that besides."""
    chooser = random.Random(seed)
    few = ["", "short", *(_with_stop_words(article(seed + n, 60)) for n in range(2))]
    made = read(method, chooser.choices(few, k=80))
    return [_shown(record, seed, chooser) if chooser.random() < 0.8 else record for record in made]


def nothing(method, seed):
    """Return records without a text."""
    return read(method, ["", " ", "\n"][: seed % 4])


def by_chance(method, seed):
    """Return records of one of the kinds here, mostly of a few dozen."""
    kinds = [records] * 6 + [pages] * 6 + [hot] * 3 + [repeated] * 3 + [huge, nothing]
    return random.Random(seed).choice(kinds)(method, seed)


def read(method, texts):
    """Return the records of *texts*, each with its place as the end of its key."""
    made = records_of(texts, method)
    return [record.under(f"http://a/{place}") for place, record in enumerate(made)]


def expected(method, rule, collection, *, has_pages=True):
    """Return what a scan says of *collection*: by rank, the verdict, original and distance.

    And how many records were kept by which objection.
    """
    judge = RecordJudge(method, rule, has_pages=has_pages)
    ranks = range(len(collection))
    # Fates are by number, and there must be one for each.
    judge.outcome.fates.extend(Fate.NEW for _ in ranks)
    numbered = [(rank, record, None) for rank, record in enumerate(collection)]
    for start in range(0, len(ranks), 7):
        judge.judge(numbered[start : start + 7])
    outcome = judge.outcome
    matches = dict(
        zip(outcome.duplicates, zip(outcome.originals, outcome.distances, strict=True), strict=True)
    )
    verdicts = [
        (rank, Fate(fate).verdict, *matches.get(rank, (None, None)))
        for rank, fate in enumerate(outcome.fates)
    ]
    return verdicts, outcome.objections
