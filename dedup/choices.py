"""What settings and options choose by a name: one of several, or an import path."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pkgutil import resolve_name
from typing import Any

# Of difflib: names that share a prefix are alike anyway.
_LEAST_RATIO = 0.75


def load(known: Mapping[str, Any], value: Any, *others: str) -> Any:
    """Return what the string *value* names: one of *known*, or what has that import path.

    Anything else is returned as it is. Raises ValueError for a name of nothing; the message tells
    *others*, names that the caller knows, too.
    """
    if not isinstance(value, str):
        return value
    if value in known:
        return known[value]
    names = [*known, *others]
    choices = f"must be an import path or one of {', '.join(names)}, got {value!r}"
    if "." not in value:
        raise ValueError(choices + did_you_mean(value, names))
    try:
        return resolve_name(value)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{choices}: {error}") from error
    except Exception as error:  # whatever the module does when it is imported
        raise ValueError(f"{choices}: it raises {type(error).__name__}: {error}") from error


@contextmanager
def naming(option: str) -> Iterator[None]:
    """Begin the messages of errors with *option*, as the user writes it."""
    try:
        yield
    except TypeError as error:
        raise TypeError(f"{option}{error}") from error
    except ValueError as error:
        raise ValueError(f"{option}{error}") from error


def name_of(given: Any, loaded: Any) -> str:
    """Return the name that was *given*, or else the import path of what was."""
    if isinstance(given, str):
        return given
    return f"{loaded.__module__}.{getattr(loaded, '__qualname__', type(loaded).__qualname__)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests a *known* name like *name*; "" without one.

    >>> did_you_mean("verfied", ["exact", "verified"])
    '; did you mean verified?'
    >>> did_you_mean("newest", ["https", "newest-version"])
    '; did you mean newest-version?'
    """
    names = [*known]
    near = get_close_matches(name, names, 1, _LEAST_RATIO)
    near = near or [other for other in names if len(name) > 2 and other.startswith(name)]
    return f"; did you mean {near[0]}?" if near else ""


def list_in(value: Any) -> Any:
    """Return the list that a string writes, as JSON or with commas; anything else as it is.

    >>> list_in("a, b,"), list_in('["a", "b"]'), list_in(("a",))
    (['a', 'b'], ['a', 'b'], ('a',))
    """
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        with suppress(ValueError):
            return json.loads(value)
    return [name.strip() for name in value.split(",") if name.strip()]
