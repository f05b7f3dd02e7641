"""The end of a torn text file: what it lacks before another line can follow."""

import codecs
import os
import sys
from typing import BinaryIO, NamedTuple

from dedup.scrapy_plugin.feeds.whole_files import BLOCK


class TornFeedError(Exception):
    """A feed is torn, and nobody could read what is appended to it."""


class Missing(NamedTuple):
    """What a torn file lacks."""

    added: bytes = b""
    """What must be added."""
    cut: int = 0
    """How many bytes, part of a character, must be removed before that."""
    must_cut: bool = False
    """Whether nobody could read what is added unless they are removed."""


def missing_in_lines(file: BinaryIO, encoding: str | None) -> Missing:
    """Return what a file of lines in *encoding* lacks, UTF-8 by default."""
    text, cut, encoding = end_of(file, encoding or "utf-8")
    added = "" if text.endswith("\n") or not text else "\n"
    return Missing(encode(added, encoding), cut, is_wide(encoding))


def end_of(file: BinaryIO, encoding: str) -> tuple[str, int, str]:
    """Return the end of a text file, the length of a torn character there, and the encoding.

    The encoding returned writes no byte order mark.
    """
    file.seek(0)
    encoding = _without_mark(encoding, file.read(4))
    size = file.seek(0, os.SEEK_END)
    begin = max(0, size - BLOCK)
    file.seek(begin - begin % 4)
    end = file.read()
    if not is_wide(encoding):  # some encodings can only be decoded from the beginning of a line
        end = end[end.rfind(b"\n", 0, -1) + 1 :]
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = decoder.decode(end)
    return text, len(decoder.getstate()[0]), encoding


def _without_mark(encoding: str, beginning: bytes) -> str:
    name = codecs.lookup(encoding).name
    if name == "utf-8-sig":
        return "utf-8"
    if name in ("utf-16", "utf-32"):
        marks = {getattr(codecs, f"BOM_UTF{name[4:]}_{order}"): order for order in ("LE", "BE")}
        order = marks.get(beginning[: int(name[4:]) // 8], sys.byteorder[0].upper() + "E")
        return f"{name}-{order.lower()}"
    return name


def is_wide(encoding: str) -> bool:
    """Return whether every character has two bytes or more: half of one shifts all that follow."""
    return encoding.startswith(("utf-16", "utf-32"))


def encode(text: str, encoding: str) -> bytes:
    """Return *text* as it stands in the middle of a file."""
    encoder = codecs.getincrementalencoder(encoding)()
    encoder.setstate(0)
    return encoder.encode(text, True)
