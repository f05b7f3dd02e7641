import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.evidence import NORMAL, Evidence


def test_stored_evidence_is_what_it_was():
    evidence = Evidence(0.29, b"01234567", 70_000, b"abcdefgh", b"", is_list=True, words=5 << 60)
    assert Evidence.from_bytes(evidence.to_bytes()) == evidence
    assert len(evidence.to_bytes()) == 37
    with pytest.raises(struct.error):
        Evidence.from_bytes(b"0")


def test_coverage_just_below_a_demand_is_still_below_it_when_stored():
    below = Evidence(0.4999, bytes(8), 1)
    assert Evidence.from_bytes(below.to_bytes()).coverage < NORMAL.coverage


@given(st.integers(0, 100), st.booleans())
def test_stored_coverage_is_of_whole_percents(percent, is_list):
    evidence = Evidence(percent / 100, bytes(8), 1, is_list=is_list)
    assert Evidence.from_bytes(evidence.to_bytes()) == evidence
