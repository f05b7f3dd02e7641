"""The rule, written out; and that the crawl, the scan and the comparison of two pages keep it."""

from functools import partial
from math import inf

import pytest
from cases import each, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import records_of
from texts import CHINESE, ENGLISH, article, edited, replaced

from dedup.detector import Detector
from dedup.explanation import Side, compare
from dedup.extraction import Extraction
from dedup.methods import METHODS, SimHash
from dedup.record import PageRecord
from dedup.rule import Decision, Kind, Rule, Verdict
from dedup.scan.reader import Fate
from dedup.scan.record_judge import RecordJudge
from dedup.text import Document

DIGEST, SKETCH = bytes(16), bytes(8)
LONG = PageRecord(tokens=20, digest=DIGEST, sketch=SKETCH)
SHORT = LONG._replace(tokens=19)
NO_SKETCH = LONG._replace(sketch=None)
BINARY = PageRecord(digest=DIGEST, is_binary=True)
EMPTY = PageRecord()
NEW, EXACT, NEAR = (Decision(Kind.NEW), Decision(Kind.EXACT, "equal"), Decision(Kind.NEAR, "near"))
IS_EMPTY, IS_SHORT = (Decision(Kind.SKIPPED, reason=why) for why in ("empty", "too_short"))


def judged(rule, record, there):
    """What *record* is where these pages are there, and what was looked for."""
    looked = []

    def look(kind):
        looked.append(kind)
        return kind if kind in there else None

    return rule.judge(record, lambda: look("equal"), lambda: look("near")), looked


@each(
    # What is found of others: nothing, an equal page, a near one, both; what was looked for.
    ("rule", "record", "neither", "equal", "near", "both", "looks"),
    [
        (Rule(), LONG, NEW, EXACT, NEAR, EXACT, ["equal", "near"]),
        (Rule(), SHORT, NEW, EXACT, NEW, EXACT, ["equal"]),
        (Rule(), NO_SKETCH, NEW, EXACT, NEW, EXACT, ["equal"]),
        (Rule(), BINARY, NEW, EXACT, NEW, EXACT, ["equal"]),
        (Rule(), EMPTY, IS_EMPTY, IS_EMPTY, IS_EMPTY, IS_EMPTY, []),
        (Rule(min_tokens=0), LONG, NEW, EXACT, NEAR, EXACT, ["equal", "near"]),
        (Rule(min_tokens=0), SHORT, IS_SHORT, IS_SHORT, IS_SHORT, IS_SHORT, []),
        (Rule(min_tokens=0), NO_SKETCH, IS_SHORT, IS_SHORT, IS_SHORT, IS_SHORT, []),
        (Rule(min_tokens=0), BINARY, NEW, EXACT, NEW, EXACT, ["equal"]),
        (Rule(min_tokens=0), EMPTY, IS_EMPTY, IS_EMPTY, IS_EMPTY, IS_EMPTY, []),
        # The edges of min_tokens.
        (Rule(19), SHORT, NEW, EXACT, NEAR, EXACT, ["equal", "near"]),
        (Rule(21), LONG, NEW, EXACT, NEW, EXACT, ["equal"]),
        (Rule(0, "keep"), NO_SKETCH, IS_SHORT, IS_SHORT, IS_SHORT, IS_SHORT, []),
        (Rule(0), EMPTY, IS_EMPTY, IS_EMPTY, IS_EMPTY, IS_EMPTY, []),
    ],
)
def test_a_page_is_what_the_table_says_and_nothing_is_looked_for_in_vain(
    rule, record, neither, equal, near, both, looks
):
    assert judged(rule, record, []) == (neither, looks)
    assert judged(rule, record, ["equal"]) == (equal, looks[:1])
    assert judged(rule, record, ["near"]) == (near, looks)
    assert judged(rule, record, ["equal", "near"]) == (both, looks[:1])


# One after the other, by all that judge.

METHODS_BY_NAME = METHODS | {"wide": partial(SimHash, 12)}
TEXTS = [
    ENGLISH, ENGLISH.upper(), ENGLISH.replace(",", " –"), edited(ENGLISH), replaced(ENGLISH, 20),
    CHINESE, CHINESE.replace("老板就", "掌柜就"), article(1, 40), edited(article(1, 40)),
    "", " \n", "…", "word", "Word!", "one two three four", "one two three five",
    "item1 item2 item3 item4 item5 item6", "the of and is it the of and",
]  # fmt: skip


def kept_by_oracle(method, texts, min_tokens):
    """What each text is, and of which it is a duplicate: each is compared with each kept one."""
    documents, found = [Document.from_main_text(text) for text in texts], []
    for number, document in enumerate(documents):
        best = (inf, number), Kind.NEW
        for other, (kind, _) in enumerate(found):
            if kind is Kind.NEW:
                sides = (Side("", Extraction(texts[n])) for n in (other, number))
                said = compare(*sides, method, Rule(min_tokens))
                if said["verdict"] == "duplicate":
                    best = min(best, ((-1, other), Kind.EXACT))
                elif said["verdict"] == "near-duplicate":
                    best = min(best, ((said["distance"], other), Kind.NEAR))
        (_, original), kind = best
        is_short = len(document.tokens) < 20 or method.sketch(document) is None
        is_skipped = not document.text or (not min_tokens and is_short)
        found.append((Kind.SKIPPED if is_skipped else kind, number if is_skipped else original))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS_BY_NAME)
@settings(max_examples=examples(75), deadline=None)
@given(st.lists(st.sampled_from(TEXTS), max_size=8), st.sampled_from([0, 1, 4, 20, 41]))
def test_a_crawl_a_scan_and_a_comparison_of_two_pages_say_the_same(name, texts, min_tokens):
    method, rule = METHODS_BY_NAME[name](), Rule(min_tokens)
    records = [record.under(str(n)) for n, record in enumerate(records_of(texts, method))]
    expected = kept_by_oracle(method, texts, min_tokens)

    detector = Detector(method, rule)
    verdicts = [detector.judge(record) for record in records]
    assert [(v.kind, int(v.original or n)) for n, v in enumerate(verdicts)] == expected

    judge = RecordJudge(method, rule)
    judge.outcome.fates.extend([Fate.NEW] * len(records))
    half = len(records) // 2
    for part in (slice(0, half), slice(half, None)):
        judge.judge([(n, records[n], None) for n in range(len(records))[part]])
    outcome = judge.outcome
    originals = dict(zip(outcome.duplicates, outcome.originals, strict=True))
    kinds = {
        Fate.NEW: Kind.NEW, Fate.EMPTY: Kind.SKIPPED, Fate.EXACT: Kind.EXACT, Fate.NEAR: Kind.NEAR,
    }  # fmt: skip
    said = [
        (kinds[fate], originals.get(number, number)) for number, fate in enumerate(outcome.fates)
    ]
    assert said == expected
    distances = [verdict.distance for verdict in verdicts if verdict.is_duplicate]
    assert list(outcome.distances) == pytest.approx(distances)


def test_a_verdict_reads_as_a_sentence():
    near = Verdict(Kind.NEAR, "simhash", "http://a/", 2)
    assert str(near) == "near-duplicate of <http://a/> (simhash, distance 2)"
    assert str(Verdict(Kind.SKIPPED, "simhash", reason="empty")) == "skipped (empty)"
