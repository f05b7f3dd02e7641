"""What reading a page costs: trafilatura as it is installed, our copy of it, and our own work.

    python benchmarks/extraction.py FOLDER... [--pages N] [--rounds N]

Of each folder, N random pages (*.html, below it) are read. All three read one page in turn, so that
a slow moment of the machine hits them alike; of the rounds, the fastest counts. Times are those of
this process on a CPU. Own work is what `PageReader` takes for a page beyond the extraction by our
copy: evidence, title and so on, words, sketch, a sample of the text, the pickle for the reactor.
"""

import argparse
import pickle
import random
from pathlib import Path
from statistics import mean
from time import process_time
from timeit import timeit

import trafilatura
from w3lib.encoding import html_to_unicode

from dedup.extraction import EXTRACTORS
from dedup.extraction.own_trafilatura import own_trafilatura
from dedup.methods import SimHash
from dedup.page import PageReader

reader = PageReader(EXTRACTORS["trafilatura"], SimHash(), with_sequences=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'':16}{'installed':>10}{'copy':>10}{'ratio':>10}{'own work':>10}   ms a page, means")
    for folder in arguments.folders:
        paths = sorted(folder.rglob("*.html"))
        chosen = random.Random(1).sample(paths, min(arguments.pages, len(paths)))
        pages = [html_to_unicode(None, path.read_bytes())[1] for path in chosen]
        times = [milliseconds(page, arguments.rounds) for page in pages]
        installed, copy, whole = map(mean, zip(*times, strict=True))
        figures = f"{installed:10.2f}{copy:10.2f}{copy / installed:10.3f}{whole - copy:10.2f}"
        print(f"{folder.name:16}{figures}")


def milliseconds(html: str, rounds: int) -> list[float]:
    """Return what the installed trafilatura, our copy and our reader take for a page."""
    own = own_trafilatura()
    readers = [
        lambda: trafilatura.extract(html, fast=True, include_comments=False),
        lambda: own.extract(html, fast=True, include_comments=False),
        lambda: pickle.dumps(reader.read_html(html)),
    ]
    assert readers[0]() == readers[1](), html
    times = [
        [1e3 * timeit(read, number=1, timer=process_time) for read in readers]
        for _ in range(rounds)
    ]
    return list(map(min, zip(*times, strict=True)))


if __name__ == "__main__":
    main()
