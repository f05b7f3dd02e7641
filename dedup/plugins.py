"""Methods, extractors and criteria of preference, by short name or import path."""

import importlib.util
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Self

from dedup.choices import list_in, load, name_of
from dedup.extraction import EXTRACTORS
from dedup.methods import METHODS
from dedup.methods.arguments import check_arguments
from dedup.methods.base import Method
from dedup.preference import Criterion, Preference


def load_method_class(value: Any) -> type[Method]:
    """Return the class of a method: *value* itself, or what it names.

    Raises ValueError if that is none; the message says what was expected and what was got.
    """
    method_class = load(METHODS, value)
    if not (isinstance(method_class, type) and issubclass(method_class, Method)):
        raise ValueError(f"must be a subclass of dedup.methods.Method, got {value!r}")
    missing = sorted(getattr(method_class, "__abstractmethods__", ()))
    missing += [name for name in ("name", "version") if not hasattr(method_class, name)]
    if missing:
        raise ValueError(f"{value!r} lacks {', '.join(missing)}")
    return method_class


class MethodChoice(NamedTuple):
    """A method before it is made: the *name* that was given, its class, and its arguments."""

    name: str
    kind: type[Method]
    arguments: dict[str, Any]
    simplifies_chinese: bool

    @classmethod
    def of(cls, value: Any) -> Self:
        """Return what *value* describes: a name, an import path, a class, or a dictionary.

        That may be JSON. It has one of these as "name", and may have arguments of the method, and
        "simplify_chinese". Raises ValueError for anything else.
        """
        if isinstance(value, str) and value.lstrip().startswith("{"):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"must be a dict or one in JSON, got {value!r:.200}") from error
        arguments = dict(value) if isinstance(value, Mapping) else {"name": value}
        if "name" not in arguments:
            raise ValueError(f'must have the name of the method as "name", got {value!r}')
        given = arguments.pop("name")
        simplifies = arguments.pop("simplify_chinese", False)
        if not isinstance(simplifies, bool):
            raise ValueError(f"must have True or False as simplify_chinese, got {value!r}")
        kind = load_method_class(given)
        return cls(name_of(given, kind), kind, arguments, simplifies)

    def method(self) -> Method:
        """Return the method, with its arguments; raises ValueError if it does not take them."""
        try:
            check_arguments(self.kind, self.arguments)
            method = self.kind(**self.arguments)
            if not isinstance(getattr(method, "max_distance", None), int | float):
                raise TypeError("lacks a max_distance, a number")
            return self._seeing_chinese(method)
        except TypeError as error:
            raise ValueError(f"{self.name} {error}") from error
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error

    def sweep(self) -> list[Method]:
        """Return the method with each value of its `sweep` that is in range; itself without any."""
        name, values = self.kind.sweep
        methods = []
        for value in values:
            with suppress(ValueError):
                methods.append(self.kind(**{**self.arguments, name: value}))
        return list(map(self._seeing_chinese, methods)) or [self.method()]

    def _seeing_chinese(self, method: Method) -> Method:
        """Return *method* with Chinese simplified if that was chosen; ValueError without OpenCC."""
        return method.simplifying_chinese() if self.simplifies_chinese else method

    def shown(self) -> str | dict[str, Any]:
        """Return what describes it, for JSON: the name alone, if there is nothing else."""
        simplify = {"simplify_chinese": True} if self.simplifies_chinese else {}
        shown = {"name": self.name, **self.arguments, **simplify}
        return self.name if len(shown) == 1 else shown


def load_extractor(value: Any) -> Any:
    """Return an extractor: *value* itself, or what it names.

    Raises ValueError if that cannot be called, or if its library is missing.
    """
    if isinstance(value, str) and value in EXTRACTORS and not importlib.util.find_spec(value):
        raise ValueError(f"{value!r} needs: pip install 'scrapy-dedup[{value}]'")
    extractor = load(EXTRACTORS, value)
    if not callable(extractor):
        raise ValueError(f"must be callable, got {value!r}")
    return extractor


def load_preference(known: Mapping[str, Criterion], value: Any) -> Preference:
    """Return the preference of one criterion, or of several in a list or separated by commas.

    Each is a function or names one, by a short name of *known* or an import path. Raises ValueError
    for anything else.
    """
    values = list_in(value)
    criteria = []
    for one in values if isinstance(values, list | tuple) else [values]:
        criterion = load(known, one)
        if not callable(criterion) or isinstance(criterion, type):
            raise ValueError(f"must be functions or names of them, got {one!r}")
        criteria.append((name_of(one, criterion), criterion))
    return Preference(criteria)
