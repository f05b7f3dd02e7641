"""trafilatura for us alone: a second copy of its modules, which does the same in less time.

Whoever else calls trafilatura in this process has the one that is installed, untouched. In the
copy, the XPath selectors that call Python for each element are walks (`dedup.extraction.selectors`)
and lxml need not ask Python which class each element has.
"""

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from logging import CRITICAL, getLogger
from types import ModuleType
from typing import TYPE_CHECKING

from dedup.extraction.selectors import Selector, UnknownSelectorError, compiled

if TYPE_CHECKING:
    from lxml.etree import XPath

logger = getLogger(__name__)

NAME = "dedup.extraction._trafilatura"
LISTS = (
    "BODY_XPATH",
    "DISCARD_IMAGE_ELEMENTS",
    "OVERALL_DISCARD_XPATH",
    "RAW_TREE_PRUNE_XPATH",
    "REMOVE_COMMENTS_AND_LISTS_XPATH",
    "REMOVE_COMMENTS_XPATH",
    "TEASER_DISCARD_XPATH",
)
"""The lists of selectors that are used where neither comments nor metadata are extracted."""


@cache
def own_trafilatura() -> ModuleType:
    """Return the copy, made when it is first asked for.

    A selector of a form that we do not know stays as it is, and the log says so.
    """
    from lxml import etree, html

    library = _copy_of("trafilatura", NAME)
    # Broken pages are common and are counted by their verdict; an error for each of them would
    # flood the log of the crawl.
    getLogger(NAME).setLevel(CRITICAL + 1)
    xpaths, baseline, utils = (
        import_module(f"{NAME}.{module}") for module in ("xpaths", "baseline", "utils")
    )
    unknown: set[str] = set()
    for name in LISTS:
        selectors = getattr(xpaths, name, [])  # not every version has all of them
        selectors[:] = [_quick(selector, name, unknown) for selector in selectors]
    name = "BASIC_CLEAN_XPATH"
    setattr(baseline, name, _quick(getattr(baseline, name), name, unknown))
    if unknown:
        logger.warning(
            "reading pages takes longer than it could: trafilatura %s has selectors in %s that "
            "dedup leaves as they are, since it does not know their form",
            library.__version__,
            ", ".join(sorted(unknown)),
        )
    utils.HTML_PARSER.set_element_class_lookup(
        etree.ElementDefaultClassLookup(
            element=html.HtmlElement,
            comment=html.HtmlComment,
            pi=html.HtmlProcessingInstruction,
            entity=html.HtmlEntity,
        )
    )
    return library


def _copy_of(package: str, name: str) -> ModuleType:
    """Return *package* imported again, as *name*: its modules import each other relatively."""
    installed = find_spec(package)
    if installed is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    spec = spec_from_file_location(
        name, installed.origin, submodule_search_locations=installed.submodule_search_locations
    )
    assert spec
    assert spec.loader
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _quick(selector: "XPath", name: str, unknown: set[str]) -> "Selector | XPath":
    try:
        return compiled(selector.path)
    except UnknownSelectorError:
        unknown.add(name)
        return selector
