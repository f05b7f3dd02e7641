"""Records by columns, and back, for tests."""

from itertools import accumulate

from dedup.record import PageRecord, RecordColumns, pack_items, unpack_items


def columns_of(pages, replaced=()):
    """The columns of *pages*, number -> record, each with the item of its record."""
    rows = [
        (
            number, page.digest, page.sketch, page.tokens, page.evidence, page.scope,
            pack_items([page.item]),
        )
        for number, page in pages.items()
    ]  # fmt: skip
    columns = RecordColumns.of(*(zip(*rows, strict=True) if rows else [()] * 7))
    columns.keys = {
        number: page.key for number, page in pages.items() if page.key and page.evidence is not None
    }
    columns.replaced = replaced
    return columns


def pages_of(columns):
    """What columns have: number -> record, with the keys that are there, of one item each."""
    sketches = _of_all(columns.has_sketch, columns.sketches)
    evidence = _of_all(columns.has_evidence, columns.evidence)
    return {
        number: PageRecord(
            columns.keys.get(number, ""),
            columns.scopes[scope],
            tokens,
            digest.tobytes(),
            sketch,
            None if shown is None else shown.tobytes(),
            item=item,
        )
        for number, scope, tokens, digest, sketch, shown, [item] in zip(
            columns.numbers.tolist(),
            columns.of_scope.tolist(),
            columns.tokens.tolist(),
            columns.digests,
            sketches,
            evidence,
            items_of(columns).values(),
            strict=True,
        )
    }


def items_of(columns):
    """What the items of each page say: number -> one for each item."""
    items = map(unpack_items, columns.items)
    return dict(zip(columns.numbers.tolist(), items, strict=True))


def _of_all(has, values):
    """The *values* of those who have one, ``None`` for the others."""
    assert len(values) == has.sum()
    places = accumulate(has.tolist(), initial=0)
    return [values[place] if there else None for there, place in zip(has, places, strict=False)]
