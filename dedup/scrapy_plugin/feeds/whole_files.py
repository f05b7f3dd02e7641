"""Finds out whether files are whole: complete documents, items or compressed streams only.

A file is read in blocks, from its beginning.
"""

import bz2
import gzip
import io
import json
import lzma
import marshal
import os
import pickletools
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO
from xml.parsers import expat

from scrapy import exporters
from scrapy.extensions import postprocessing

BLOCK = 1 << 20
LARGEST_ITEM = 1 << 28
"""Bytes or characters. What seems to be a larger item is damage, and is not read into memory."""


@contextmanager
def text_of(file: BinaryIO, encoding: str) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(file, encoding, errors="ignore", newline="")
    try:
        yield text
    finally:
        text.detach()


def _is_json_whole(file: BinaryIO) -> bool:
    """Return whether a file holds only arrays, one after the other."""
    decoder = json.JSONDecoder()
    text, at, is_within = "", 0, False
    with text_of(file, "utf-8") as source:
        while True:
            match = _BETWEEN_ITEMS.match(text, at)
            at = match.end() if match else at
            if at == len(text):
                text, at = source.read(BLOCK), 0
                if not text:
                    return not is_within
            elif text[at] == "[" and not is_within:
                at, is_within = at + 1, True
            elif text[at] == "]" and is_within:
                at, is_within = at + 1, False
            elif not is_within:
                return False
            else:
                try:
                    _, at = decoder.raw_decode(text, at)
                except ValueError:
                    more = source.read(max(BLOCK, len(text)))
                    if not more or len(text) > LARGEST_ITEM:
                        return False
                    text, at = text[at:] + more, 0


_BETWEEN_ITEMS = re.compile(r"[\s,]*")


def _is_xml_whole(file: BinaryIO) -> bool:
    """Return whether a file holds only documents, one after the other."""
    begin = depth = 0

    def opened(_name: str, _attributes: object) -> None:
        nonlocal depth
        depth += 1

    def closed(_name: str) -> None:
        nonlocal depth
        depth -= 1

    while True:
        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = opened, closed
        file.seek(begin)
        try:
            while block := file.read(BLOCK):
                parser.Parse(block, False)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            if depth or error.code not in _BEGINS_OF_XML or not parser.ErrorByteIndex:
                return False
            begin += parser.ErrorByteIndex
        else:
            return True


_BEGINS_OF_XML = tuple(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT,
        expat.errors.XML_ERROR_MISPLACED_XML_PI,
    )
)


def _is_pickle_whole(file: BinaryIO) -> bool:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    try:
        while file.tell() < size:
            begin = file.tell()
            # It only reads the file, and runs nothing of it.
            for code, _, at in pickletools.genops(_Bounded(file)):  # type: ignore[arg-type]
                if code.name == "PROTO" and at != begin:
                    return False  # a torn pickle, and another one within it
    except ValueError:
        return False
    return True


class _Bounded:
    """A file that does not read what a damaged length asks for into memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.readline = file.readline
        self.tell = file.tell

    def read(self, size: int) -> bytes:
        if size > LARGEST_ITEM:
            raise ValueError("too long")
        return self._file.read(size)


def _is_marshal_whole(file: BinaryIO) -> bool:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    try:
        while file.tell() < size:
            marshal.load(file)
    except (EOFError, ValueError, TypeError, MemoryError):
        return False
    return True


def _is_gzip_whole(file: BinaryIO) -> bool:
    try:
        with gzip.open(file) as content:
            while content.read(BLOCK):
                pass
    except (EOFError, OSError, zlib.error):
        return False
    return True


def _are_streams_whole(
    decompressor: Callable[[], "bz2.BZ2Decompressor | lzma.LZMADecompressor"],
) -> Callable[[BinaryIO], bool]:
    """Return a check whether a file holds only compressed streams, one after the other.

    Python's own readers mistake a torn stream, and all that follows it, for padding.
    """

    def are_whole(file: BinaryIO) -> bool:
        stream, block = None, b""
        try:
            while block := block or file.read(BLOCK):
                stream = stream or decompressor()
                stream.decompress(block, BLOCK)
                while not (stream.eof or stream.needs_input):
                    stream.decompress(b"", BLOCK)
                block = stream.unused_data
                if stream.eof:
                    stream = None
        except (EOFError, OSError, lzma.LZMAError):
            return False
        return stream is None

    return are_whole


CHECKS: dict[type, Callable[[BinaryIO], bool]] = {
    exporters.JsonItemExporter: _is_json_whole,
    exporters.XmlItemExporter: _is_xml_whole,
    exporters.PickleItemExporter: _is_pickle_whole,
    exporters.MarshalItemExporter: _is_marshal_whole,
}
CHECKS_OF_PLUGINS: dict[type, Callable[[BinaryIO], bool]] = {
    postprocessing.GzipPlugin: _is_gzip_whole,
    postprocessing.Bz2Plugin: _are_streams_whole(bz2.BZ2Decompressor),
    postprocessing.LZMAPlugin: _are_streams_whole(lzma.LZMADecompressor),
}
