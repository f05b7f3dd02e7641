"""The same few records, written in every form that can be scanned."""

import csv
import gzip
import hashlib
import io
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd

NAMES = {
    "jsonl": "pages.jsonl",
    "jsonl.gz": "pages.jsonl.gz",
    "jsonl.zst": "pages.jl.zst",
    "csv": "pages.csv",
    "csv.gz": "pages.csv.gz",
    "parquet": "pages.parquet",
    "warc": "pages.warc",
    "warc.gz": "pages.warc.gz",
    "folder": "pages",
}


def compressed(data: bytes, name: str) -> bytes:
    if name.endswith(".gz"):
        return gzip.compress(data, mtime=0)
    return zstd.compress(data) if name.endswith(".zst") else data


def decompressed(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    return zstd.decompress(data) if path.suffix == ".zst" else data


def write(path: Path, texts: list[str | None], *, first: int = 0) -> Path:
    """Write a record for each of *texts*, keyed page0, page1, ... from *first* on, to *path*."""
    keyed = [(f"page{number}", text) for number, text in enumerate(texts, first)]
    name = path.name
    if ".jsonl" in name or ".jl" in name:
        lines = [json.dumps({"url": key, "text": text}) for key, text in keyed]
        path.write_bytes(compressed("\n".join(lines).encode(), name))
    elif ".csv" in name:
        output = io.StringIO(newline="")
        csv.writer(output).writerows([("url", "text"), *keyed])
        path.write_bytes(compressed(output.getvalue().encode(), name))
    elif ".parquet" in name:
        table = pa.table(
            {"url": [key for key, _ in keyed], "text": texts, "more": [[1, 2]] * len(texts)}
        )
        pq.write_table(table.replace_schema_metadata({"made": "here"}), path, row_group_size=2,
            compression="zstd")  # fmt: skip
    elif ".warc" in name:
        pages = [page for key, text in keyed for page in warc_page(f"http://a/{key}", text or "")]
        write_warc(path, [warc_record("warcinfo", None, b"software: test\r\n"), *pages])
    else:
        path.mkdir(exist_ok=True)
        for key, text in keyed:
            file = path / "texts" / f"{key}.txt"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text or "", "utf-8", newline="")
            os.utime(file, (1_000_000_000, 1_000_000_000))
    return path


def write_lines(path: Path, objects: Iterable[Any]) -> Path:
    """Write each of *objects* to a line of JSON."""
    path.write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return path


def warc_record(
    kind: str,
    uri: str | None,
    block: bytes,
    date: str = "2024-05-01T00:00:00Z",
    **headers: str,
) -> bytes:
    """Return a record of WARC; in the names of *headers*, _ stands for -."""
    number = hashlib.sha1(f"{kind} {uri}".encode()).hexdigest()
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:sha1:{number}>",
        f"WARC-Date: {date}",
        *([f"WARC-Target-URI: {uri}"] if uri else []),
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + block + b"\r\n\r\n"


def warc_page(
    uri: str,
    body: str,
    *,
    media_type: str = "text/plain",
    status: str = "200 OK",
    date: str = "2024-05-01T00:00:00Z",
) -> list[bytes]:
    """Return the records of a request and of its response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}; charset=utf-8\r\n\r\n"
    http = "application/http; msgtype="
    block = (head + body).encode()
    response = warc_record("response", uri, block, date, Content_Type=f"{http}response")
    response_id = re.search(rb"WARC-Record-ID: (\S+)", response)[1].decode()
    request = warc_record(
        "request",
        uri,
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        date,
        Content_Type=f"{http}request",
        WARC_Concurrent_To=response_id,
    )
    return [request, response]


def write_warc(path: Path, records: list[bytes]) -> Path:
    """Write records to *path*: with .gz, each compressed on its own."""
    path.write_bytes(b"".join(compressed(record, path.name) for record in records))
    return path
