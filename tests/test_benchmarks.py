"""Each benchmark runs to its end, at a size at which its figures say nothing.

`crash.py` is run by scrapy_plugin/test_crashes.py, `fuzz.py` by test_fuzz.py.
"""

import json
from pathlib import Path

import pytest
from cases import IS_THOROUGH
from own_process import run_python
from texts import CHINESE, article, edited, page

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
TEXTS, PAGES = "labelled/reuters_a", "sites/pooch"
TINY = [
    ["crawl", "", "--rounds", "1", "--only", "off", "1 worker"],
    ["drops", PAGES],
    ["drops", PAGES, "--orders", "1"],
    ["extraction", PAGES, "--pages", "2", "--rounds", "1"],
    ["index", "", "--sizes", "300", "--data", "random", "--rounds", "1"],
    ["load", "--pages", "60"],
    ["parity", TEXTS, "--records", "60", "--methods", "verified", "--master", "local[1]"],
    ["scan", "", "--records", "60", "--rounds", "1", "--only", "dedup simhash"],
]
"""Benchmarks, and arguments with which they are done soon; files and folders are in `data`."""
ELSEWHERE = {
    "crash": "run by scrapy_plugin/test_crashes.py",
    "fleet": "what it plays is played by stores/test_conformance.py, in short",
    "fuzz": "run by test_fuzz.py",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What benchmarks read: two collections of texts, and two sites, each with a few copies."""
    folder = tmp_path_factory.mktemp("data")
    english = [article(number, 500) for number in range(24)]
    rare = ["".join(map(chr, range(first, first + 300))) for first in range(0x4E00, 0x9000, 2000)]
    chinese = [CHINESE * 4 + text for text in rare]
    for name, texts, language in (("reuters_a", english, "en"), ("laws_zh_a", chinese, "zh")):
        write_collection(folder / "labelled" / name, [*texts, edited(texts[0])], language)
    for name in ("eventmesh", "pooch"):
        site = folder / "sites" / name
        write_collection(site, [*english[:6], edited(english[0])], "en")
        (site / "www").mkdir()
        links = "".join(f'<a href="/{number}.html">{number}</a>' for number in range(7))
        for number, text in enumerate([*english[:6], edited(english[0])]):
            html = page(text, title=f"Title {number % 6}").replace("<body>", f"<body>{links}")
            (site / "www" / f"{number}.html").write_text(html)
        (site / "seeds.txt").write_text("/0.html\n")
    return folder


def write_collection(folder: Path, texts: list[str], language: str) -> None:
    folder.mkdir(parents=True)
    documents = [
        {"id": str(number), "url": f"/{number}.html", "html": f"www/{number}.html", "text": text,
         "lang": language, "kind": "page", "ntok": len(text.split() if language == "en" else text)}
        for number, text in enumerate(texts)
    ]  # fmt: skip
    lines = (f"{json.dumps(document)}\n" for document in documents)
    (folder / "docs.jsonl").write_text("".join(lines))
    (folder / "pairs.tsv").write_text(f"id1\tid2\tlabel\n0\t{len(texts) - 1}\tdup\n")


@pytest.mark.parametrize("command", TINY, ids=" ".join)
def test_a_benchmark_runs_to_its_end(data: Path, command: list[str]):
    name, *words = command
    if name == "parity":
        pytest.importorskip("pyspark", reason="needs Spark: .[test-all]")
        if not IS_THOROUGH:
            pytest.skip("several sessions of Spark: before a release")
    arguments = [str(data) if word == "" else word for word in words]
    temporary = data / "temporary"
    temporary.mkdir(exist_ok=True)
    script = BENCHMARKS / f"{name}.py"
    done = run_python(script, *arguments, cwd=data, env={"TMPDIR": str(temporary)}, timeout=600)
    assert "Traceback" not in done.stderr
    assert done.stdout


def test_every_benchmark_is_run():
    run_here = {name for name, *_ in TINY}
    assert {path.stem for path in BENCHMARKS.glob("*.py")} == run_here | ELSEWHERE.keys()
