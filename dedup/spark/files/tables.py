"""What the footers of Parquet files say, as Spark's own Java reads them."""

from typing import NamedTuple

from dedup.records import RecordError
from dedup.records.parquet import Parquet
from dedup.spark.files.inputs import Inputs
from dedup.spark.files.splits import PLACES
from dedup.spark.files.storage import Storage


class Tables(NamedTuple):
    """The names of all columns of Parquet files, and their compression."""

    columns: tuple[str, ...] = ()
    compression: str = "none"


def describe_tables(storage: Storage, inputs: Inputs) -> Tables:
    """Return the columns and the compression of Parquet; raises RecordError if schemas differ.

    Spark would take nothing for the columns that a file has not, and leave out others.
    """
    columns: list[str] = []
    compression, first_schema = "none", None
    if inputs.kind is not Parquet:
        return Tables()
    for file in inputs.files:
        try:
            reader = storage.parquet(file.path)
        except Exception as error:
            raise RecordError(f"{file.name} is not a Parquet file") from error
        try:
            schema = reader.getFileMetaData().getSchema()
            # Each writer has a name of its own for the whole.
            content = str(schema).partition("{")[2]
            if first_schema is None:
                first_schema = content
                columns = [str(part.getName()) for part in schema.getFields()]
                blocks = reader.getFooter().getBlocks()
                if len(blocks):
                    codec = blocks[0].getColumns()[0].getCodec()
                    compression = str(codec.name()).lower()
            elif content != first_schema:
                raise RecordError(f"the schemas of {file.name} and {inputs.files[0].name} differ")
        finally:
            reader.close()
    if taken := set(columns) & set(PLACES):
        raise RecordError(f"the column {min(taken)} of {inputs.files[0].name} needs another name")
    return Tables(tuple(columns), compression.replace("uncompressed", "none"))
