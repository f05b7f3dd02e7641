import pyarrow as pa
import pytest

from dedup.spark import runs


@pytest.mark.parametrize("rows_at_once", [1, 3, 4, 100])
@pytest.mark.parametrize("rows_of_a_batch", [1, 2, 3, 7])
def test_runs_come_whole_and_each_row_once(monkeypatch, rows_at_once, rows_of_a_batch):
    monkeypatch.setattr(runs, "_ROWS_AT_ONCE", rows_at_once)
    numbers = [-5] + [0] * 11 + [1] + [3] * 4 + [7] * 2
    rows = pa.table({"run": pa.array(numbers, pa.int64()), "row": range(len(numbers))})
    batches = rows.to_batches(max_chunksize=rows_of_a_batch)
    batches.insert(1, batches[0].slice(0, 0))
    parts = [part.to_pydict() for part in runs._whole_runs(batches)]
    assert [row for part in parts for row in part["row"]] == list(range(len(numbers)))
    assert [number for part in parts for number in part["run"]] == numbers
    assert sum(len(set(part["run"])) for part in parts) == len(set(numbers))
    assert len(parts) == 1 if rows_at_once == 100 else len(parts) > 1
