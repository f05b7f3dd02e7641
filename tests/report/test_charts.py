import subprocess
import sys
from itertools import pairwise

import pytest
from cases import each
from lxml import etree

from dedup.report.charts import bin_distances, draw_bars


def bars_of(svg):
    """Class, title and height of each bar."""
    return [
        (bar.getparent().getparent().get("class"), bar.find("title").text, bar[0].get("height"))
        for bar in etree.fromstring(svg).xpath("//*[@class='bar']")
    ]


def test_each_number_has_a_bar_of_its_height_with_a_title():
    svg = draw_bars(["a", "b"], [("new", [10, 0]), ("near", [20, 40])], title_id="name")
    bars = bars_of(svg)
    assert [bar[:2] for bar in bars] == [("new", "a: 10"), ("near", "a: 20"), ("near", "b: 40")]
    heights = [float(height) for *_, height in bars]
    assert heights[1] / heights[0] == pytest.approx(2, rel=0.02)
    assert heights[2] / heights[0] == pytest.approx(4, rel=0.02)


def test_it_is_small_and_has_no_scripts_styles_or_identities():
    svg = draw_bars([str(n) for n in range(60)], [("new", range(1, 61))], title_id="name")
    root = etree.fromstring(svg)
    names = {etree.QName(element).localname for element in root.iter()}
    assert names == {"svg", "g", "rect", "path", "text", "title"}
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "name"
    assert not root.xpath("//*[@id or @style]")
    assert "http" not in svg.replace("http://www.w3.org/", "")
    assert len(svg) < 15_000


def test_labels_cannot_be_markup():
    svg = draw_bars(["<script>alert(1)</script>"], [("new", [1])], title_id="name")
    assert "<script" not in svg


@each(
    ("counts", "upto", "labels", "bars"),
    [
        ({0: 5, 3: 2}, 4, ["0", "1", "2", "3", "4"], [5, 0, 0, 2, 0]),
        ({}, 0, ["0"], [0]),
        ({0.0: 1, 0.5: 2, 1.0: 4}, 0, None, {"0": 1, "0.5": 2, "1": 4}),
        ({float(n): 1 for n in range(101)}, 0, None, {"0": 1, "50": 5, "100": 5}),
        ({0.15: 1}, 0.97, None, {"0.1": 0, "0.15": 1}),
        ({0.29: 1, 0.3: 1}, 0.6, None, {"0.3": 2, "0.27": 0}),
    ],
)
def test_distances_are_put_into_bars(counts, upto, labels, bars):
    got_labels, (got,), _ = bin_distances(counts, upto=upto)
    assert sum(got) == sum(counts.values())
    assert len(got_labels) == len(got) <= 30
    if labels:
        assert (got_labels, got) == (labels, bars)
    else:
        assert {label: got[got_labels.index(label)] for label in bars} == bars


@pytest.mark.parametrize("threshold", [0, 3, 8, 0.13, 0.3, 2.5])
@pytest.mark.parametrize("upto", [16, 40, 0.97, 1])
def test_no_bar_holds_both_sides_of_the_threshold(threshold, upto):
    below, beyond = {threshold: 1.0, threshold / 2: 1}, {threshold + 0.01: 1.0, upto: 1}
    labels, (near, kept), place = bin_distances(below, beyond, threshold=threshold)
    if place is None:
        assert threshold > upto
        return
    assert not any(near[place:])
    assert not any(kept[:place]) or threshold > upto
    assert labels[place - 1] == f"{threshold:g}"


def test_the_threshold_is_a_line_between_the_bars_on_both_sides_of_it():
    svg = draw_bars(list("0123"), [("near", [5, 5, 5, 5])], title_id="name", threshold=2)
    root = etree.fromstring(svg)
    [line] = root.xpath("//*[@class='threshold']")
    x = float(line.get("d").split()[0][1:])
    lefts = [float(bar[0].get("x")) for bar in root.xpath("//*[@class='bar']")]
    width = float(root.xpath("//*[@class='bar']/*[local-name()='rect']/@width")[0])
    assert lefts[1] + width <= x <= lefts[2]
    assert not etree.fromstring(draw_bars(["0"], [("near", [5])], title_id="name")).xpath(
        "//*[@class='threshold']"
    )


@pytest.mark.parametrize("labels", [[str(n % 7) for n in range(60)], ["1,234,567"] * 40, ["a"]])
def test_labels_of_an_axis_do_not_overlap(labels):
    root = etree.fromstring(draw_bars(labels, [("new", [1] * len(labels))], title_id="name"))
    texts = root.xpath("//*[contains(@class, 'axis x')]//*[local-name()='text']")
    places = [float(text.get("x")) for text in texts]
    assert texts[0].text == labels[0]
    widest = 10 * max(map(len, labels))
    assert all(b - a > widest for a, b in pairwise(places))
    assert len(root.xpath("//*[@class='bar']")) == len(labels)


def test_bars_of_a_width_stand_over_round_numbers_in_their_places():
    labels = [f"{64 * n:,}" for n in range(40)]
    root = etree.fromstring(draw_bars(labels, [("new", [64] * 40)], title_id="name", width=64))
    texts = root.xpath("//*[contains(@class, 'axis x')]//*[local-name()='text']")
    assert [text.text for text in texts] == ["0", "1,000", "2,000"]
    bars = [bar[0] for bar in root.xpath("//*[@class='bar']")]
    # 1,000 is in the bar that begins with page 960 = 15 * 64, a little after its middle.
    x, width = (float(bars[15].get(name)) for name in ("x", "width"))
    assert x + width / 2 < float(texts[1].get("x")) < x + width


def test_the_numbers_of_the_upright_axis_are_written_like_all_others():
    root = etree.fromstring(draw_bars(["a"], [("new", [1700])], title_id="name"))
    texts = root.xpath("//*[contains(@class, 'axis y')]//*[local-name()='text']")
    assert [text.text for text in texts] == ["0", "500", "1,000", "1,500", "2,000"]


@pytest.mark.slow
def test_drawing_leaves_imports_as_they_were():
    """The library of charts puts finders of modules in place, of which one is faulty."""
    script = (
        "import sys, importlib.metadata; from dedup.report.charts import draw_bars;"
        "draw_bars(['1'], [('a', [1])], title_id='t');"
        "assert not any('pygal' in type(finder).__module__ for finder in sys.meta_path);"
        "importlib.metadata.version('trafilatura')"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
