"""Pages named on the command line: files and URLs."""

import time
from pathlib import Path

from urllib3 import PoolManager, Retry
from urllib3.exceptions import HTTPError, MaxRetryError, NewConnectionError
from urllib3.exceptions import TimeoutError as TimeoutOfServer
from w3lib.url import safe_url_string

from dedup import __version__
from dedup.records.base import decode_html

_MOST_BYTES = 10_000_000
_SECONDS = 30.0
_CHUNK = 1 << 16
_HEADERS = {
    "User-Agent": f"scrapy-dedup/{__version__} (dedup explain)",
    "Accept": "text/html, application/xhtml+xml, text/plain",
}


def read_source(source: str) -> str:
    """Return the HTML or the text of *source*, a file or an http(s) URL.

    It is decoded as `decode_html` does. Raises ValueError with a message of one line if *source*
    cannot be read, is larger than 10 MB, or is not text.
    """
    is_url = source.lower().startswith(("http://", "https://"))
    body, content_type = _fetch(source) if is_url else (_read_file(source), None)
    if len(body) > _MOST_BYTES:
        raise ValueError(f"{source} is larger than {_MOST_BYTES:,} bytes")
    text = decode_html(body, content_type)
    if "\0" in text:
        raise ValueError(f"{source} is not text: it has NUL characters")
    return text


def _read_file(source: str) -> bytes:
    try:
        with Path(source).open("rb") as file:
            return file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{source} cannot be read ({error.strerror})") from error


def _fetch(url: str) -> tuple[bytes, str | None]:
    end, body, problem = time.monotonic() + _SECONDS, bytearray(), ""
    pool = PoolManager(timeout=_SECONDS, retries=Retry(connect=0, read=0, redirect=10))
    try:
        request = "GET", safe_url_string(url)
        with pool.request(*request, headers=_HEADERS, preload_content=False) as response:
            content_type = response.headers.get("Content-Type")
            if response.status != 200:
                problem = f"responds with status {response.status}"
            while not problem and len(body) <= _MOST_BYTES and (part := response.read1(_CHUNK)):
                body += part
                if time.monotonic() > end:
                    raise TimeoutOfServer
    except (HTTPError, OSError, ValueError) as error:
        reason = error.reason if isinstance(error, MaxRetryError) else error
        problem = f"cannot be fetched ({reason})"
        if isinstance(reason, TimeoutOfServer) and not isinstance(reason, NewConnectionError):
            problem = f"takes longer than {_SECONDS:.0f} seconds"
    if problem:
        raise ValueError(f"{url} {problem}")
    return bytes(body), content_type
