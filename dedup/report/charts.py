"""Bars as SVG for inside an HTML page, which gives them their colours."""

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from lxml import etree
from markupsafe import Markup

_WIDTH, _HEIGHT = 480, 230
_BINS = 24
# Of the labels: what a character takes on a phone, and what is left free between two.
_CHARACTER, _GAP = 10, 16


def draw_bars(
    labels: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    title_id: str,
    threshold: int | None = None,
    width: float | None = None,
) -> Markup:
    """Return bars over *labels*; *series* are pairs of a CSS class and a number for each label.

    *title_id* is the HTML element that names the chart. A line behind the first *threshold* bars
    parts them from the others. Of many labels, only some are shown; where each bar is *width* wide
    in what it is about, from 0 on, round numbers of that stand there instead.
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
        formatter=lambda value: f"{value:,.0f}",
        truncate_label=-1,
        style=pygal.style.Style(label_font_size=14, major_label_font_size=14),
    )
    # Their numbers, since pygal takes equal labels for one.
    chart.x_labels = [str(number) for number in range(len(labels))]
    stacks = zip(*(values for _, values in series), strict=True)
    steps = _axis_steps(max((sum(bar or 0 for bar in stack) for stack in stacks), default=0))
    chart.y_labels = [{"label": f"{step:,}", "value": step} for step in steps]
    for name, values in series:
        chart.add(name, list(values))
    svg = chart.render_tree()
    plot = svg.xpath(".//*[local-name()='g'][@class='plot']")[0]
    for number, (name, _) in enumerate(series):
        for group in plot.xpath(f".//*[contains(@class, 'serie-{number} ')]"):
            group.set("class", name)
    centres = _place_labels(plot, labels, width)
    _tidy(plot, labels)
    if threshold is not None:
        _draw_threshold(plot, centres, threshold)
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


def _place_labels(plot: Any, labels: Sequence[str], width: float | None) -> list[float]:
    """Give the x axis as many *labels* as there is room for; return the places of all of them.

    With a *width* of bars, these are round numbers where they belong.
    """
    guides = plot.xpath(".//*[contains(@class, 'axis x')]//*[local-name()='text']")
    centres = [float(guide.get("x")) for guide in guides]
    if width is None:
        widest = max(map(len, labels), default=1) * _CHARACTER + _GAP
        every = max(1, math.ceil(len(labels) * widest / _WIDTH))
        shown = [(centres[number], labels[number]) for number in range(0, len(labels), every)]
    else:
        left, right = _sides(plot, centres)
        steps = _axis_steps(width * len(labels))
        places = [(left + (right - left) * step / (width * len(labels)), step) for step in steps]
        shown = [(place, f"{step:,}") for place, step in places if place <= right]
    for guide, (place, label) in zip(guides, shown, strict=False):
        guide.set("x", f"{place:.1f}")
        guide.text = label
    for guide in guides[len(shown) :]:
        guide.getparent().getparent().remove(guide.getparent())
    return centres


def _sides(plot: Any, centres: Sequence[float]) -> tuple[float, float]:
    """Return where the first of the bars around *centres* begins, and the last one ends."""
    [ground] = plot.xpath("*[@class='background']")[:1]
    half = float(ground.get("width")) / max(1, len(centres)) / 2
    return centres[0] - half, centres[-1] + half


def _draw_threshold(plot: Any, centres: Sequence[float], threshold: int) -> None:
    """Draw a line behind the first *threshold* of the bars around *centres*."""
    [ground] = plot.xpath("*[@class='background']")[:1]
    left, right = _sides(plot, centres) if centres else (0, 0)
    x = left + (right - left) * threshold / max(1, len(centres))
    etree.SubElement(
        plot, "path", {"class": "threshold", "d": f"M{x:.1f} 0v{float(ground.get('height')):.0f}"}
    )


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


def _tidy(plot: Any, labels: Sequence[str]) -> None:
    """Remove what only pygal's scripts need, and give each bar a title for browsers to show."""
    for element in list(plot.iter()):
        kind = etree.QName(element).localname if isinstance(element.tag, str) else None
        if kind == "g" and element.get("class") == "bar":
            value, label = (_read_description(element, name) for name in ("value", "x_label"))
            for child in list(element)[1:]:
                element.remove(child)
            etree.SubElement(element, "title").text = f"{labels[int(label)]}: {value}"
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


def _step_of(distances: Collection[float], highest: float) -> float:
    """Return how wide bars are up to *highest*: whole if *distances* are, else in hundredths."""
    if highest > 1 and all(float(distance).is_integer() for distance in distances):
        return float(max(1, math.ceil((highest + 1) / _BINS)))
    return max(0.01, math.ceil(100 * highest / _BINS) / 100)


def bin_distances(
    *counts: Mapping[float, float], upto: float = 0, threshold: float | None = None
) -> tuple[list[str], list[list[float]], int | None]:
    """Return labels, and for each of *counts*, which are numbers by distance, a number per label.

    Each of a few whole distances has a bar; many of them, and shares, are counted in steps, each
    of which is labelled with the highest distance in it. No step reaches beyond *threshold* from
    below: the last value is how many bars are up to it, ``None`` if there is none or it lies
    beyond the axis. The axis reaches at least to *upto*.

    >>> bin_distances({0: 5, 2: 1}, {4: 7}, threshold=3)
    (['0', '1', '2', '3', '4'], [[5.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 7.0]], 4)
    """
    highest = max([upto, *(key for count in counts for key in count)], default=0)
    edge = threshold or 0.0
    step = _step_of({edge, highest}.union(*counts), highest)

    def place(distance: float) -> int:
        """Return the number of steps from the one that ends at the threshold."""
        return math.ceil((distance - edge) / step - 1e-9)

    first = place(0)
    bars = [[0.0] * (place(highest) - first + 1) for _ in counts]
    for bar, count in zip(bars, counts, strict=True):
        for key, number in count.items():
            bar[place(key) - first] += number
    labels = [f"{round(edge + step * (first + n), 4):g}" for n in range(len(bars[0]))]
    is_within = threshold is not None and threshold <= highest
    return labels, bars, 1 - first if is_within else None
