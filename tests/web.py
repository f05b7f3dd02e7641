"""A real web server on loopback, for tests that crawl."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Answer:
    """What the server sends for a path."""

    body: bytes
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)


@contextmanager
def served(
    pages: Mapping[str, Answer | str] | Callable[[str, Mapping[str, str]], Answer],
) -> Iterator[str]:
    """Serve *pages* by path, and yield the URL of the server without the last slash.

    Or what *pages* says to a path and the headers of a request. What is sent to a path is read, and
    makes no difference.
    """

    class Handler(BaseHTTPRequestHandler):
        # A connection, which a thread serves, is for many requests.
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if callable(pages):
                answer = pages(self.path, self.headers)
            else:
                answer = pages.get(self.path, Answer(b"<p>There is no such page.", 404))
            if isinstance(answer, str):
                answer = Answer(answer.encode())
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(answer.body)))
            if answer.content_type:
                self.send_header("Content-Type", answer.content_type)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        do_POST = do_GET  # noqa: N815  # the name that http.server calls

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
