"""Lines of text as rows of one column, which Spark writes as they are."""

import pyarrow as pa

LINES = "value string"


def as_lines(lines: list[bytes]) -> pa.RecordBatch:
    """Return *lines* as strings, although they may be none: Spark writes the bytes as they are."""
    array = pa.array(lines, pa.binary())
    strings = pa.StringArray.from_buffers(len(array), *array.buffers()[1:])
    return pa.RecordBatch.from_arrays([strings], ["value"])
