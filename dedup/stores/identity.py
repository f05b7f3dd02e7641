"""What stored sketches depend on: a store is for crawls with an equal identity."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dedup.stores.ledger_file import LedgerError

OTHERS = ("extractor", "item_field", "scope")
"""The parts of an identity that are none of the method's."""


def parts_of_identity(identity: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what of *identity* is the method's, and those of the `OTHERS` that it has."""
    of_method = {name: value for name, value in identity.items() if name not in OTHERS}
    return of_method, {name: identity[name] for name in OTHERS if name in identity}


def check_identity(
    name: str, stored: Mapping[str, Any], identity: Mapping[str, Any], *, is_resumed: bool
) -> None:
    """Raise LedgerError if what a store was made with is not the *identity* of a crawl.

    *name* is that of the store; *is_resumed*: the job goes on that has made it.
    """
    if stored == identity:
        return
    told = "; ".join(differences(stored, identity, sorted({*stored, *identity})))
    ways = (
        "Its job goes on: use the settings that it began with, or remove its JOBDIR"
        if is_resumed
        else "Use another one (DEDUP_INDEX), start afresh (-a dedup_reset=1), or convert it (dedup "
        "ledger)"
    )
    raise LedgerError(f"{name} was made with other settings: {told}. {ways}")


def differences(
    there: Mapping[str, Any], here: Mapping[str, Any], names: Iterable[str]
) -> Iterator[str]:
    """Yield the differences of two identities in *names*, without showing secrets.

    Where the methods differ, their versions, and arguments that only one of them has, are not told.
    """
    if there.get("method") != here.get("method"):
        of_both = there.keys() & here.keys() - {"version"}
        names = [name for name in names if name in {*of_both, *OTHERS, "secret"}]
    for name in names:
        old, new = there.get(name), here.get(name)
        if old == new and (name in there) == (name in here):
            continue
        if name != "secret":
            shown = [repr(one[name]) if name in one else "missing" for one in (there, here)]
            yield f"{name} {shown[0]} there, {shown[1]} here"
        else:
            here_is = "another" if old and new else "one" if new else "none"
            yield f"{'a' if old else 'no'} secret there, {here_is} here (DEDUP_SECRET)"
