"""``python -m dedup``, and what ``spark-submit`` is given as a script."""

import sys
from pathlib import Path

# The folder of a script comes first on the path, and this one has modules called text and record.
if sys.path and Path(sys.path[0]).resolve() == Path(__file__).resolve().parent:
    del sys.path[0]

from dedup.cli import main

sys.exit(main())
