"""The numbers as a file for programs."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(numbers: Mapping[str, Any], folder: Path) -> Path:
    """Write the report of `Summary.finish` into *folder*, and return the path of the new file.

    Its name is made of the spider's and the start; no file is overwritten. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started = numbers["started"].replace("+00:00", "Z").replace(":", "")
    spider = re.sub(r"[^\w.-]+", "_", str(numbers["spider"]))[:50]
    text = json.dumps(numbers, ensure_ascii=False, indent=1, default=str)
    number = 1
    while True:
        suffix = f"-{number}" if number > 1 else ""
        path = folder / f"{spider}-{started}{suffix}.json"
        try:
            # A URL may hold what is no character, and cannot be encoded.
            file = path.open("x", encoding="utf-8", errors="backslashreplace")
        except FileExistsError:  # another crawl that began in the same second
            number += 1
            continue
        try:
            with file:
                file.write(text)
        except BaseException:  # half of it is none
            path.unlink(missing_ok=True)
            raise
        return path
