"""What speaks against dropping pages, asked of many pairs at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dedup.evidence import NORMAL, STRICT, Evidence, Names
from dedup.rule import Rule, Witness
from dedup.spark.witnesses import OBJECTIONS, Witnesses, flags_of, to_bytes

NAMES = st.sampled_from([b"", b"aaaa", b"bbbb", b"\1\2", b"cccc"])
EVIDENCE = st.builds(
    Evidence,
    st.sampled_from([0.2, 0.49, 0.5, 0.69, 0.7, 0.9, 1.0]),
    st.sampled_from([bytes(16), bytes(15) + b"\1", b"\1" + bytes(15)]),
    st.sampled_from([0, 1, 100, 109, 110, 125, 1000]),
    NAMES,
    NAMES,
    st.booleans(),
)
PAGES = st.tuples(st.sampled_from([0, 20, 25, 49, 50, 62, 2**33]), st.none() | EVIDENCE)


@given(
    pages=st.lists(PAGES, min_size=1, max_size=8),
    met=st.lists(EVIDENCE, max_size=12),
    demands=st.sampled_from([NORMAL, STRICT]),
    is_exact=st.booleans(),
    finds_parts=st.booleans(),
)
def test_the_answers_are_those_of_the_rule(pages, met, demands, is_exact, finds_parts):
    rule, names = Rule(demands=demands), Names()
    for page in met:
        names.learn("host", page)
    rows, expected, same = [], [], []
    for tokens, page in pages:
        row = page and to_bytes(tokens, page.to_bytes(), flags_of(names, "host", page))
        rows.append(row)
        own = page and Evidence.from_bytes(page.to_bytes())
        for others, original in pages:
            other = original and Evidence.from_bytes(original.to_bytes())
            objection = rule.objection(
                Witness(tokens, own), Witness(min(others, 2**32 - 1), other),
                is_exact=is_exact, finds_parts=finds_parts, names=names, host="host",
            )  # fmt: skip
            expected.append(objection)
            same.append(bool(own and other and own.view == other.view))
    witnesses = Witnesses(rule, rows, finds_parts=finds_parts)
    assert witnesses.are_there == any(rows)
    if any(rows):
        one, two = (part.ravel() for part in np.indices((len(pages), len(pages))))
        found = witnesses.objections(one, two, is_exact=is_exact)
        assert [OBJECTIONS[place] for place in found.tolist()] == expected
        assert witnesses.show_same(one, two).tolist() == same
