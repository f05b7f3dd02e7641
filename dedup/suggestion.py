"""What somebody may have meant by a name that does not exist."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

# Of difflib: names that share a prefix are alike anyway.
_LEAST_RATIO = 0.8


def did_you_mean(
    name: str, known: Iterable[str], other_names: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the end of a message that suggests a *known* name like *name*; "" without one.

    *other_names*: what other programs call it, and the known name of that.

    >>> did_you_mean("verfied", ["exact", "verified"])
    '; did you mean verified?'
    >>> did_you_mean("treshold", ["max_distance"], {"threshold": "max_distance"})
    '; did you mean max_distance?'
    >>> did_you_mean("newest", ["https", "newest-version"])
    '; did you mean newest-version?'
    """
    names = [*known, *other_names]
    near = [name] if name in names else get_close_matches(name, names, 1, _LEAST_RATIO)
    near = near or [other for other in names if len(name) > 2 and other.startswith(name)]
    return f"; did you mean {other_names.get(near[0], near[0])}?" if near else ""
