"""The templates of the HTML report: their texts in all languages, and how values look."""

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from dedup.atomic_file import replacing
from dedup.text import printable, readable_url
from dedup.units import Count, format_bytes, format_seconds

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATES = Path(__file__).parent / "templates"
_LONGEST_URL = 400
_LANGUAGES = ("en", "zh")


def write_html(path: Path, content: str) -> None:
    """Write a page of HTML to *path*. Raises OSError."""
    with replacing(path) as file:
        # Surrogates cannot be encoded: a URL may hold one.
        file.write(content.encode("utf-8", "replace"))


def read_template(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


@cache
def messages() -> dict[str, list[str]]:
    """Return the texts of the interface by name, each in all languages."""
    texts: dict[str, list[str]] = json.loads(read_template("messages.json"))
    return texts


@cache
def template() -> "Template":
    """Return the template of the report; it escapes all values."""
    # Here, since most crawls write no report.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "default": str,
    }
    environment.globals |= {"t": _translate, "attribute": _attribute}
    environment.filters |= {
        "number": lambda value: f"{value:,}",
        "percent": lambda value: f"{value:.1f} %",
        "bytes": format_bytes,
        "seconds": format_seconds,
        "distance": lambda value: f"{value:.3g}",
        "shown": lambda value: cut_url(str(value)),
        "is_address": is_address,
        "read": read_template,
        "sha256": lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
        "messages": lambda name: messages()[name],
    }
    return environment.get_template("report.html")


def _translate(name: str, *values: Any) -> Markup:
    """Return a text of the interface in all languages; the style shows the one that is chosen.

    *values* take the places of {0}, {1} and so on; where one may be 1, of {0:page|pages}.
    """
    if name not in messages():  # a stage, scope or reason of somebody else's
        return escape(printable(name.partition("_")[2].replace("_", " ")))
    values = tuple(Count(value) if isinstance(value, int) else value for value in values)
    return Markup("").join(
        Markup('<span class="t" lang="{}">{}</span>').format(language, Markup(text).format(*values))
        for language, text in zip(_LANGUAGES, messages()[name], strict=True)
    )


def _attribute(name: str) -> Markup:
    """Return the attributes that have a text of the interface in all languages, for scripts."""
    return Markup(" ").join(
        Markup('data-{}="{}"').format(language, text)
        for language, text in zip(_LANGUAGES, messages()[name], strict=True)
    )


def cut_url(url: str) -> str:
    """Return *url*, or another name, as it is shown: printable, readable, and not too long.

    What is cut has an ellipsis in its middle, so that nobody takes it for an address.
    """
    shown = readable_url(url)
    if len(shown) > _LONGEST_URL:
        shown = f"{shown[: _LONGEST_URL // 2]}…{shown[1 - _LONGEST_URL // 2 :]}"
    return printable(shown, None)


def is_address(url: str) -> bool:
    """Return whether *url*, as `cut_url` shows it, leads to a page."""
    is_web = url[:8].lower().startswith(("http://", "https://"))
    return is_web and not {"…", "\ufffd"} & set(cut_url(url))
