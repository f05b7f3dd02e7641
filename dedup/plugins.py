"""Methods, extractors and criteria of preference, by short name or import path."""

import importlib.util
import inspect
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from dedup.extraction import EXTRACTORS
from dedup.methods import METHODS
from dedup.methods.base import Method
from dedup.preference import Criterion, Preference
from dedup.suggestion import did_you_mean


def load_method_class(value: Any) -> type[Method]:
    """Return the class of a method: *value* itself, or what it names.

    Raises ValueError if that is none; the message says what was expected and what was got.
    """
    method_class = _load(METHODS, value)
    if not (isinstance(method_class, type) and issubclass(method_class, Method)):
        raise ValueError(f"must be a subclass of dedup.methods.Method, got {value!r}")
    if inspect.isabstract(method_class):
        missing = ", ".join(sorted(method_class.__abstractmethods__))
        raise ValueError(f"{value!r} lacks {missing}")
    return method_class


def load_extractor(value: Any) -> Any:
    """Return an extractor: *value* itself, or what it names.

    Raises ValueError if that cannot be called, or if its library is missing.
    """
    if isinstance(value, str) and value in EXTRACTORS and not importlib.util.find_spec(value):
        raise ValueError(f"{value!r} needs: pip install 'scrapy-dedup[{value}]'")
    extractor = _load(EXTRACTORS, value)
    if not callable(extractor):
        raise ValueError(f"must be callable, got {value!r}")
    return extractor


def load_preference(known: Mapping[str, Criterion], value: Any) -> Preference:
    """Return the preference of one criterion, or of several in a list or separated by commas.

    Each is a function or names one, by a short name of *known* or an import path. Raises ValueError
    for anything else.
    """
    if isinstance(value, str):
        values: list[Any] = [name.strip() for name in value.split(",") if name.strip()]
    else:
        values = list(value) if isinstance(value, list | tuple) else [value]
    criteria = []
    for one in values:
        criterion = _load(known, one)
        if not callable(criterion) or isinstance(criterion, type):
            raise ValueError(f"must be functions or names of them, got {one!r}")
        criteria.append((name_of(one, criterion), criterion))
    return Preference(criteria)


def name_of(given: Any, loaded: Any) -> str:
    """Return the name that was *given*, or else the import path of what was."""
    if isinstance(given, str):
        return given
    return f"{loaded.__module__}.{getattr(loaded, '__qualname__', type(loaded).__qualname__)}"


def _load(by_short_name: Mapping[str, Any], value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value in by_short_name:
        return by_short_name[value]
    choices = f"must be an import path or one of {', '.join(by_short_name)}, got {value!r}"
    if "." not in value:
        raise ValueError(choices + did_you_mean(value, by_short_name))
    try:
        return resolve_name(value)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{choices}: {error}") from error
    except Exception as error:  # whatever the module does when it is imported
        raise ValueError(f"{choices}: it raises {type(error).__name__}: {error}") from error
