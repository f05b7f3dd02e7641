"""The columns of a DataFrame that are asked for, checked before any work."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, MapType, StringType, StructType

PARTS = (
    "__dedup_content", "__dedup_key", "__dedup_date", "__dedup_canonical", "__dedup_item",
)  # fmt: skip
"""The names of the columns that are read of each row, where they are there."""

_TYPES = {
    "text": (StringType,),
    "html": (StringType, BinaryType),
    "record": (StringType, StructType, MapType),
}


@dataclass(frozen=True)
class Columns:
    """The names of columns: one of *text*, *html* and *record*, and what else is known of a row."""

    text: str | None = None
    html: str | None = None
    record: str | None = None
    key: str | None = "url"
    date: str | None = None
    canonical: str | None = None
    order_by: str | Sequence[str] | None = None

    def check(self, df: DataFrame) -> None:
        """Raise ValueError if *df* lacks one of them, or if one is of a wrong type."""
        contents = [name for name in _TYPES if getattr(self, name) is not None]
        if len(contents) != 1:
            got = " and ".join(contents) or "none of them"
            raise ValueError(f"exactly one of text, html and record must name a column, got {got}")
        named = [("key", self.own_key), ("date", self.date), ("canonical", self.canonical)]
        named += [(kind, getattr(self, kind)) for kind in contents]
        named += [("order_by", name) for name in self.order]
        for what, name in named:
            if name is not None and df.columns.count(name) != 1:
                raise ValueError(
                    f"{what}: the DataFrame has {df.columns.count(name) or 'no'} columns named "
                    f"{name!r}; it has {', '.join(df.columns)}"
                )
        kind = df.schema[self.content].dataType
        if not isinstance(kind, _TYPES[contents[0]]):
            raise ValueError(
                f"{contents[0]}: the column {self.content!r} is {kind.simpleString():.60}"
            )

    @property
    def content(self) -> str:
        """The name of the column that has what is compared."""
        return self.text or self.html or self.record or ""

    @property
    def own_key(self) -> str | None:
        """The column of the key; records have keys of their own unless another one is named."""
        return None if self.record is not None and self.key == "url" else self.key

    @property
    def order(self) -> list[str]:
        """The columns that say what comes first."""
        if self.order_by is None:
            return []
        return [self.order_by] if isinstance(self.order_by, str) else list(self.order_by)

    def parts(self, item: Sequence[str]) -> list[Column]:
        """Return what is read of each row, as `PARTS`, those that are there.

        *item* names the columns that are its item, or none.
        """
        names = [self.content, self.own_key, self.date, self.canonical]
        found = [column(name).alias(part) for name, part in zip(names, PARTS, strict=False) if name]
        return [*found, F.struct(*map(column, item)).alias(PARTS[-1])] if item else found


def column(name: str) -> Column:
    """Return the column of exactly this *name*, which may have dots in it."""
    return F.col("`" + name.replace("`", "``") + "`")
