"""``spark-submit dedup/spark/__main__.py INPUT... -o OUT``: `dedup scan` on that cluster."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # What spark-submit puts first on the path has modules of this folder.
    if sys.path and Path(sys.path[0]).resolve() == Path(__file__).resolve().parent:
        del sys.path[0]

    from dedup.cli import main

    sys.exit(main(["scan", *sys.argv[1:], "--engine", "spark"]))
