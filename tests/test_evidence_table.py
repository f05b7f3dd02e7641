from hypothesis import given
from hypothesis import strategies as st
from record_columns import columns_of

from dedup.evidence import SIZE_OF_EVIDENCE, Evidence
from dedup.evidence_table import EvidenceTable
from dedup.record import PageRecord

NUMBERS = st.integers(0, 2**32 - 1)
EVIDENCE = st.builds(
    lambda coverage, view, size: Evidence(coverage / 255, view, size, b"name", b"").to_bytes(),
    st.integers(0, 255),
    st.binary(min_size=16, max_size=16),
    st.integers(1, 2**32 - 1),
)
ROWS = st.tuples(st.integers(0, 2**32 - 1), st.none() | EVIDENCE)


@given(st.dictionaries(NUMBERS, ROWS, max_size=30), st.sets(NUMBERS), st.randoms())
def test_it_holds_what_a_dict_holds_in_whatever_order_pages_come_and_go(rows, others, random):
    table, numbers = EvidenceTable(), list(rows)
    random.shuffle(numbers)
    for number in numbers:
        table.add(number, *rows[number])
    gone = {number for number in numbers if random.random() < 0.5} | others
    for number in gone:
        table.discard(number)
    left = {n: row for n, row in rows.items() if n not in gone and row[1] is not None}
    assert len(table) == len(left)
    for number in {*rows, *others}:
        tokens, data = left.get(number, (0, None))
        expected = None if data is None else Evidence.from_bytes(data)
        assert table.get(number) == (tokens, expected)
    assert table.nbytes == len(left) * (8 + SIZE_OF_EVIDENCE)


def test_a_page_of_more_tokens_than_it_can_hold_has_the_most():
    table, evidence = EvidenceTable(), Evidence(1, bytes(16), 1)
    table.add(1, 2**40, evidence.to_bytes())
    assert table.get(1) == (2**32 - 1, evidence)


@given(st.dictionaries(NUMBERS, ROWS, max_size=30), st.integers(0, 30))
def test_pages_that_come_together_are_held_as_if_they_came_one_by_one(rows, several):
    table, expected, numbers = EvidenceTable(), EvidenceTable(), sorted(rows)
    for part in (numbers[several:], numbers[:several]):
        columns = columns_of(
            {n: PageRecord("", "", rows[n][0], bytes(16), None, rows[n][1]) for n in part}
        )
        has = columns.has_evidence
        table.add_many(columns.numbers[has], columns.tokens[has], columns.evidence)
    for number in numbers:
        expected.add(number, *rows[number])
    for number in numbers:
        assert table.get(number) == expected.get(number)
        evidence = expected.get(number)[1]
        assert table.view(number) == (evidence and evidence.view)
    assert table.nbytes == expected.nbytes
