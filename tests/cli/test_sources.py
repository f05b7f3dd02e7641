import gzip
import socket
import time
from contextlib import suppress
from threading import Thread

import pytest
from cases import each
from web import Answer, served

from dedup.cli import explain
from dedup.cli.explain import read_source

TEXT = "我们在北京大学喝茶"


@each(("name", "is_html"), [("page", False), ("page.HTML", True)])
def test_a_file_is_read_in_the_encoding_that_it_declares_and_is_html_by_its_name(
    tmp_path, name, is_html
):
    html = f"<meta charset=gb2312>{TEXT}"
    (tmp_path / name).write_bytes(html.encode("gbk"))
    assert read_source(str(tmp_path / name)) == (html, is_html)


@each(
    ("source", "message"),
    [
        ("nowhere", "nowhere cannot be read \\(No such file or directory\\)"),
        ("/dev/zero", "/dev/zero is larger than 10,000,000 bytes"),
        ("nul", "nul is not text: it has NUL characters"),
        ("http://[", "http://\\[ cannot be read"),
        ("https://", "https:// cannot be read"),
        ("HTTP://127.0.0.1:1/", "cannot be read \\(.*refused"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, monkeypatch, source, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nul").write_bytes(b"some\x00thing")
    with pytest.raises(ValueError, match=message):
        read_source(source)


def test_a_page_is_fetched_where_it_has_moved_to():
    pages = {
        "/old": Answer(b"", 301, headers={"Location": "/caf%C3%A9"}),
        "/caf%C3%A9": Answer(TEXT.encode("gbk"), content_type="text/html; charset=gbk"),
        "/plain": Answer(b"if x <y", content_type="Text/Plain"),
        "/untold": Answer(b"text", content_type=""),
        "/packed": Answer(gzip.compress(b"packed"), headers={"Content-Encoding": "gzip"}),
    }
    with served(pages) as url:
        assert read_source(f"{url}/old") == (TEXT, True)
        assert read_source(f"{url}/café") == (TEXT, True)
        assert read_source(f"{url}/plain") == ("if x <y", False)
        assert read_source(f"{url}/untold") == ("text", False)
        assert read_source(f"{url}/packed") == ("packed", True)


@each(
    ("answer", "message"),
    [
        (Answer(b"", 404), "cannot be read \\(status 404"),
        (Answer(b"", 301, headers={"Location": "/page"}), "too many redirects"),
        (Answer(b"", 301, headers={"Location": "file:///etc/passwd"}), "cannot be read"),
        (Answer(b"%PDF\x00", content_type="application/pdf"), "is not text: it has NUL"),
        (Answer(b" " * 10_000_001), "is larger than 10,000,000 bytes"),
    ],
)
def test_answers_that_are_no_page_are_told(answer, message):
    with served({"/page": answer}) as url, pytest.raises(ValueError, match=message):
        read_source(f"{url}/page")


def answering(*parts, pause):
    """The URL of a server that sends the parts, and closes or waits for who it sent them to."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = server.accept()
        with server, connection, suppress(OSError):  # of who has gone
            connection.recv(4096)
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            if not parts[-1].endswith(b"end"):
                connection.recv(1)

    Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{server.getsockname()[1]}/"


@each(
    ("sent", "message"),
    [
        (b"HTTP/1.1 200 OK\r\n", "Read timed out"),
        ([b"HTTP/1.1 200 OK\r\n\r\n", *[b"word "] * 20, b"end"], "takes longer than"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthe end",
            "7 bytes read, 93 more expected",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nend", "cannot be read"),
        (b"what? end", "cannot be read"),
    ],
)
def test_answers_that_break_off_or_take_too_long_are_told(monkeypatch, sent, message):
    monkeypatch.setattr(explain, "_SECONDS", 0.2)
    parts = [sent] if isinstance(sent, bytes) else sent
    with pytest.raises(ValueError, match=message):
        read_source(answering(*parts, pause=0.05))
