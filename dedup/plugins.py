"""Methods and extractors, by short name or import path."""

import importlib.util
import inspect
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from dedup.extraction import EXTRACTORS
from dedup.methods import METHODS
from dedup.methods.base import Method
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
