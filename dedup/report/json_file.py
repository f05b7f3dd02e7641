"""The numbers as a file for programs."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NOT_ASCII = re.compile(r"[^\n -~]+")
_NOT_OF_A_NAME = re.compile(r"[^\w.-]+")


def write_json(numbers: Mapping[str, Any], folder: Path) -> Path:
    """Write the report of `Summary.finish` into *folder*, and return the path of the new file.

    Its name is made of the spider's and the start; no file is overwritten. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started = numbers["started"].replace("+00:00", "Z").replace(":", "")
    spider = _NOT_OF_A_NAME.sub("_", str(numbers["spider"]))[:50]
    text = json.dumps(numbers, ensure_ascii=False, indent=1, default=str)
    text = _NOT_ASCII.sub(lambda match: "".join(map(_shown, match[0])), text)
    number = 1
    while True:
        suffix = f"-{number}" if number > 1 else ""
        path = folder / f"{spider}-{started}{suffix}.json"
        try:
            file = path.open("x", encoding="utf-8")
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


def _shown(character: str) -> str:
    """Return *character*, escaped if a terminal might obey it, or it could not be encoded."""
    return character if character.isprintable() else json.dumps(character)[1:-1]
