"""``python -m dedup``."""

import sys

from dedup.cli import main

sys.exit(main())
