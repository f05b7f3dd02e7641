"""Bars as SVG for inside an HTML page, which gives them their colours."""

import math
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from lxml import etree
from markupsafe import Markup

_WIDTH, _HEIGHT = 480, 230
_BINS = 24


def stacked_bars(
    labels: Sequence[str], series: Sequence[tuple[str, Sequence[float | None]]], *, title_id: str
) -> Markup:
    """Return bars over *labels*; *series* are pairs of a CSS class and a number for each label.

    *title_id* is the HTML element that names the chart.
    """
    pygal = _import_pygal()
    chart = pygal.StackedBar(
        css=[],
        js=[],
        width=_WIDTH,
        height=_HEIGHT,
        margin=4,
        no_prefix=True,
        show_legend=False,
        show_minor_x_labels=False,
        x_labels_major_count=max(2, min(len(labels), 9)),
        formatter=lambda value: f"{value:,.0f}",
        truncate_label=-1,
        style=pygal.style.Style(label_font_size=14, major_label_font_size=14),
    )
    chart.x_labels = list(labels)
    stacks = zip(*(values for _, values in series), strict=True)
    chart.y_labels = _axis_steps(
        max((sum(bar or 0 for bar in stack) for stack in stacks), default=0)
    )
    for name, values in series:
        chart.add(name, list(values))
    svg = chart.render_tree()
    plot = svg.xpath(".//*[local-name()='g'][@class='plot']")[0]
    for number, (name, _) in enumerate(series):
        for group in plot.xpath(f".//*[contains(@class, 'serie-{number} ')]"):
            group.set("class", name)
    _tidy(plot)
    root = etree.Element(
        "svg",
        {
            "viewBox": f"0 0 {_WIDTH} {_HEIGHT}",
            "role": "img",
            "aria-labelledby": title_id,
            "focusable": "false",
        },
    )
    root.append(plot)
    return Markup(etree.tostring(root, encoding="unicode"))


def _axis_steps(highest: float) -> list[float]:
    """Return some round whole numbers from 0 to *highest* or just beyond.

    >>> _axis_steps(35), _axis_steps(2)
    ([0, 10, 20, 30, 40], [0, 1, 2])
    """
    least = max(1.0, highest / 5)
    power = 10 ** math.floor(math.log10(least))
    step = next(int(power * factor) for factor in (1, 2, 5, 10) if power * factor >= least)
    return [step * place for place in range(math.ceil(highest / step) + 1)]


@cache
def _import_pygal() -> Any:
    import pygal

    # pygal adds a finder for its maps, which lacks a method of finders: each import that fails in
    # this process would warn of it. (Finders of others that its import adds stay.)
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if not type(finder).__module__.startswith("pygal")
    ]
    return pygal


def _tidy(plot: Any) -> None:
    """Remove what only pygal's scripts need, and give each bar a title for browsers to show."""
    for element in list(plot.iter()):
        kind = etree.QName(element).localname if isinstance(element.tag, str) else None
        if kind == "g" and element.get("class") == "bar":
            value, label = (_read_description(element, name) for name in ("value", "x_label"))
            for child in list(element)[1:]:
                element.remove(child)
            etree.SubElement(element, "title").text = f"{label}: {value}"
            if value == "0":
                element.getparent().remove(element)
        elif kind == "title" and element.getparent().get("class") == "guides":
            element.getparent().remove(element)
        elif kind in ("rect", "path", "text"):
            for name, number in element.attrib.items():
                if name in ("x", "y", "width", "height"):
                    element.set(name, f"{float(number):.1f}".removesuffix(".0"))
            element.attrib.pop("rx", None)
            element.attrib.pop("ry", None)
    etree.cleanup_namespaces(plot)


def _read_description(bar: Any, name: str) -> str:
    found = bar.xpath(f"*[local-name()='desc'][@class='{name}']")
    return found[0].text or "" if found else ""


def bin_distances(
    *counts: Mapping[float, float], upto: float = 0
) -> tuple[list[str], list[list[float]]]:
    """Return labels, and for each of *counts*, which are numbers by distance, a number per label.

    Each of a few whole distances has a bar; many of them, and shares, are counted in steps. The
    axis reaches at least to *upto*.
    """
    highest = max([upto, *(key for count in counts for key in count)], default=0)
    whole = all(float(key).is_integer() for count in counts for key in count)
    if whole and highest == int(highest) and highest > 1:
        step = float(max(1, math.ceil((highest + 1) / _BINS)))
    else:
        step = max(0.01, math.ceil(100 * highest / _BINS) / 100)
    bars = [[0.0] * (int(highest / step + 1e-9) + 1) for _ in counts]
    for bar, count in zip(bars, counts, strict=True):
        for key, number in count.items():
            bar[int(key / step + 1e-9)] += number
    return [f"{step * place:g}" for place in range(len(bars[0]))], bars
