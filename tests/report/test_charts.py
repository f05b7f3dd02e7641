import subprocess
import sys

import pytest
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


@pytest.mark.parametrize(
    ("counts", "upto", "labels", "bars"),
    [
        ({0: 5, 3: 2}, 4, ["0", "1", "2", "3", "4"], [5, 0, 0, 2, 0]),
        ({}, 0, ["0"], [0]),
        ({0.0: 1, 0.5: 2, 1.0: 4}, 0, None, {"0": 1, "0.5": 2, "1": 4}),
        ({float(n): 1 for n in range(101)}, 0, None, {"0": 5, "50": 5, "100": 1}),
        ({0.15: 1}, 0.97, None, {"0.1": 0, "0.15": 1}),
        ({0.29: 1, 0.3: 1}, 0.6, None, {"0.27": 1, "0.3": 1}),
    ],
)
def test_distances_are_put_into_bars(counts, upto, labels, bars):
    got_labels, (got,) = bin_distances(counts, upto=upto)
    assert sum(got) == sum(counts.values())
    assert len(got_labels) == len(got) <= 30
    if labels:
        assert (got_labels, got) == (labels, bars)
    else:
        assert {label: got[got_labels.index(label)] for label in bars} == bars


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
