"""Judge thousands of pages of one template: how time grows, and which copies are missed.

    python benchmarks/menus.py [--pages N]

Four sites: of all pages one menu is extracted, or nearly the same one, so that the evidence is
weak; or all have one short text, or nearly the same text, under titles of their own. All pages are
to be kept. Then a copy of each 37th page comes, with an equal main text and view: all are to be
dropped. Prints the CPU milliseconds per page in each quarter of the pages, and the bytes that the
detector takes for each; exit code 1 if a page was dropped or a copy was kept.
"""

import argparse
import random
import sys
from collections.abc import Callable
from time import process_time

from dedup.detector import Detector
from dedup.evidence import Evidence
from dedup.methods import SimHash
from dedup.record import PageRecord
from dedup.rule import Kind

SITES: dict[str, tuple[float, bool, int]] = {
    "one menu, weak": (0.1, True, 100),
    "near menus, weak": (0.1, False, 100),
    "one text, other titles": (0.9, True, 40),
    "near texts, other titles": (0.9, False, 100),
}
"""The coverage, whether the texts are equal, and how many tokens they have."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=20_000)
    count = parser.parse_args().pages
    is_wrong = False
    for name, site in SITES.items():
        detector, milliseconds = Detector(SimHash()), []
        dropped = 0
        for quarter in range(4):
            numbers = range(quarter * count // 4, (quarter + 1) * count // 4)
            pages = [page(number, number, *site) for number in numbers]
            start = process_time()
            kinds = [detector.judge(record).kind for record in pages]
            milliseconds.append(1000 * (process_time() - start) / len(numbers))
            dropped += sum(kind is not Kind.NEW for kind in kinds)
        nbytes = detector.nbytes / count
        copies = [page(count + number, number, *site) for number in range(0, count, 37)]
        missed = sum(detector.judge(copy).kind is not Kind.EXACT for copy in copies)
        times = " ".join(f"{each:.3f}" for each in milliseconds)
        print(
            f"{name:25} ms a page: {times}   {nbytes:.0f} bytes a page   "
            f"dropped {dropped} of {count:,}, missed {missed} of {len(copies)} copies",
            flush=True,
        )
        is_wrong = is_wrong or bool(dropped or missed)
    return int(is_wrong)


def page(number: int, content: int, coverage: float, is_equal: bool, tokens: int) -> PageRecord:
    """Return the record of a page that shows *content*."""
    draw: Callable[[int], bytes] = random.Random(content).randbytes
    title, view, digest = draw(4).replace(b"\0", b"\1"), draw(16), draw(16)
    evidence = Evidence(coverage, view, 1000, title).to_bytes()
    digest = bytes(16) if is_equal else digest
    return PageRecord(f"http://a/{number}", "", tokens, digest, bytes(8), evidence)


if __name__ == "__main__":
    sys.exit(main())
