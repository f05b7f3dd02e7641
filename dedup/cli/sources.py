"""Pages named on the command line: files and URLs."""

import time
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import NoReturn
from urllib.error import HTTPError, URLError
from urllib.request import FTPHandler, Request, build_opener

from w3lib.url import safe_url_string

from dedup import __version__
from dedup.records.base import decode_html

MOST_BYTES = 10_000_000
_SECONDS = 30.0
_CHUNK = 1 << 16
_CONTENT_TYPES = ("text/html", "application/xhtml+xml", "text/plain")
_HEADERS = {
    "User-Agent": f"scrapy-dedup/{__version__} (dedup explain)",
    "Accept": ", ".join(_CONTENT_TYPES),
    "Accept-Encoding": "identity",
}


def read_source(source: str) -> str:
    """Return the HTML or the text of *source*, a file or an http(s) URL.

    It is decoded as `decode_html` does. Raises ValueError with a message of one line if *source*
    cannot be read, is larger than 10 MB, or is not text.
    """
    scheme, separator, _ = source.partition("://")
    is_url = separator and scheme.lower() in ("http", "https")
    body, content_type = _fetch(source) if is_url else (_read_file(source), None)
    if len(body) > MOST_BYTES:
        raise ValueError(f"{source} is larger than {MOST_BYTES:,} bytes")
    text = decode_html(body, content_type)
    if "\0" in text:
        raise ValueError(f"{source} is not text: it has NUL characters")
    return text


def _read_file(source: str) -> bytes:
    try:
        with Path(source).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{source} cannot be read ({error.strerror})") from error


class _NoFTP(FTPHandler):
    """Replaces the handler with which urllib would follow a redirect to FTP."""

    def ftp_open(self, request: Request) -> NoReturn:
        raise URLError("it has moved to an FTP server")


def _problem_of(headers: Message) -> str:
    encoding = headers.get("Content-Encoding", "identity")
    if "Content-Type" in headers and headers.get_content_type() not in _CONTENT_TYPES:
        return f"is not HTML but {headers['Content-Type']}"
    if encoding.lower() != "identity":
        return f"is sent as {encoding}, which was not requested"
    return ""


def _fetch(url: str) -> tuple[bytes, str | None]:
    end, body = time.monotonic() + _SECONDS, bytearray()
    try:
        request = Request(safe_url_string(url), headers=_HEADERS)
        with build_opener(_NoFTP).open(request, timeout=_SECONDS) as response:
            content_type = response.headers.get("Content-Type")
            problem = _problem_of(response.headers)
            while not problem and len(body) <= MOST_BYTES and (part := response.read1(_CHUNK)):
                body += part
                if time.monotonic() > end:
                    raise TimeoutError
            if response.length and not problem:
                problem = f"broke off after {len(body):,} bytes"
    except HTTPError as error:
        error.close()
        problem = f"responds with status {error.code} ({error.reason})"
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        problem = f"cannot be fetched ({str(reason) or type(reason).__name__})"
        if isinstance(reason, TimeoutError):
            problem = f"takes longer than {_SECONDS:.0f} seconds"
    if problem:
        raise ValueError(f"{url} {problem}")
    return bytes(body), content_type
