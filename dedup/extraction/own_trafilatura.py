"""trafilatura for us alone: a second copy of its modules, which does the same in less time.

Whoever else calls trafilatura in this process has the one that is installed, untouched. In the
copy, the XPath selectors that call Python for each element are walks
(`dedup.extraction.selectors`), lxml need not ask Python which class each element has, and what
nobody looks at is not computed. It takes trees apart that it is given.

All of it could be trafilatura's own, with equal texts: selectors that remember values of
attributes, lxml's `ElementDefaultClassLookup`, and `CHANGES`, the first of them as an option.
"""

import sys
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from inspect import getsource
from logging import CRITICAL, getLogger
from types import ModuleType
from typing import TYPE_CHECKING

from dedup.extraction.selectors import Selector, UnknownSelectorError, compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.etree import XPath
    from lxml.html import HtmlElement

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
CHANGES = {
    # Whoever gives a tree has no more use for it.
    "core.bare_extraction": ("            tree = copy(tree)\n", "            pass\n"),
    # Only external extractors and comments need what was there before.
    "core._prepare_tree": (
        "    backup = copy(cleaned)\n",
        "    backup = copy(cleaned) if options.comments or not options.fast else None\n",
    ),
    # Mostly, a bound of the length is enough.
    "core.trafilatura_sequence": (
        "len(temp_text) < ESCALATION_PAGE_SHARE * len(html2txt(tree))",
        "covers_less(temp_text, ESCALATION_PAGE_SHARE, tree)",
    ),
}
"""What is changed in which functions of trafilatura, where it stands there just once."""


@cache
def own_trafilatura() -> ModuleType:
    """Return the copy, made when it is first asked for.

    What has a form that we do not know stays as it is, and the log says so.
    """
    from lxml import etree, html

    library = _copy_of("trafilatura", NAME)
    # Broken pages are common and are counted by their verdict; an error for each of them would
    # flood the log of the crawl.
    getLogger(NAME).setLevel(CRITICAL + 1)
    xpaths, baseline, utils, core = (
        import_module(f"{NAME}.{module}") for module in ("xpaths", "baseline", "utils", "core")
    )
    unknown: set[str] = set()
    for name in LISTS:
        selectors = getattr(xpaths, name, [])  # not every version has all of them
        selectors[:] = [_quick(selector, name, unknown) for selector in selectors]
    name = "BASIC_CLEAN_XPATH"
    setattr(baseline, name, _quick(getattr(baseline, name), name, unknown))
    vars(core)["covers_less"] = partial(_covers_less, core.html2txt, etree.XPath("count(.//*)"))
    for place, (old, new) in CHANGES.items():
        module, _, name = place.partition(".")
        _change(import_module(f"{NAME}.{module}"), name, old, new, unknown)
    if unknown:
        logger.warning(
            "reading pages takes longer than it could: trafilatura %s has code in %s that "
            "dedup leaves as it is, since it does not know its form",
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


def _change(module: ModuleType, name: str, old: str, new: str, unknown: set[str]) -> None:
    """Have the function *name* of *module* do *new* instead of *old*, and others call that."""
    before, source = getattr(module, name, None), ""
    with suppress(OSError, TypeError):  # there may be neither it nor its source
        source = getsource(before)  # type: ignore[arg-type]
    if source.count(old) != 1:
        unknown.add(name)
        return
    exec(source.replace(old, new), vars(module))
    for other in [one for key, one in sys.modules.items() if key.startswith(f"{NAME}.")]:
        if vars(other).get(name) is before:
            setattr(other, name, getattr(module, name))


def _covers_less(
    html2txt: "Callable[[HtmlElement], str]",
    count_elements: "XPath",
    text: str,
    share: float,
    tree: "HtmlElement",
) -> bool:
    """Return whether *text* is shorter than this *share* of what *html2txt* makes of *tree*.

    That leaves elements out, and has at most two more blanks for each: it is never longer than all
    text of the page with these.
    """
    from lxml import etree

    body = tree.find(".//body")
    if body is None:
        body = tree
    whole = etree.tostring(body, method="text", encoding="unicode", with_tail=False)
    most = len(" ".join(whole.split())) + 2 * count_elements(body)
    for hidden in body.iter("script", "style"):
        most -= max(len(" ".join((hidden.text or "").split())) - 1, 0)
    return len(text) < share * most and len(text) < share * len(html2txt(tree))
