"""The web server of the demonstration: the magazine on one port, its mirror on another."""

import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self

from crawler.demo.site import Page, mirror_pages, missing, pages, tutorial_pages

PORTS = 8642, 8643


class DemoServer:
    """Serve the demonstration on two loopback ports from ``start`` to ``stop``.

    *url* and *mirror_url* end in a slash and are empty while nothing is served.
    """

    def __init__(self, edition: int = 1) -> None:
        """Create the server; *edition*: 2 for the magazine some days later."""
        self.url = self.mirror_url = ""
        self._edition = edition
        self._hosts: list[_Host] = []

    def start(self) -> Self:
        """Bind two ports and serve them; raises RuntimeError if already started.

        The ports are the same every time, so that a second crawl sees the same URLs; a taken port
        is replaced by a free one.
        """
        if self._hosts:
            raise RuntimeError(f"already serving at {self.url}")
        site, mirror = self._hosts = [_Host(port) for port in PORTS]
        self.url, self.mirror_url = site.url, mirror.url
        magazine = pages(self.url, self.mirror_url, self._edition)
        site.pages = magazine | tutorial_pages(self._edition)
        mirror.pages = mirror_pages(self.url)
        for host in self._hosts:
            host.thread.start()
        return self

    def stop(self) -> None:
        """Finish the current answers, then close both ports; does nothing if already stopped."""
        hosts, self._hosts = self._hosts, []
        self.url = self.mirror_url = ""
        for host in hosts:
            host.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()


class _Host(ThreadingHTTPServer):
    """One port, its pages and how often each was visited."""

    daemon_threads = False  # so that server_close waits for the current answers
    request_queue_size = 64  # the default of 5 makes a concurrent crawl wait for resent SYNs

    def __init__(self, port: int) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError:
            super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.pages: dict[str, Page] = {}
        self._visits: Counter[str] = Counter()
        self._lock = Lock()
        self.thread = Thread(target=self.serve_forever, args=(0.05,), daemon=True)

    def stop(self) -> None:
        """End the thread and close the port."""
        self.shutdown()
        self.thread.join()
        self.server_close()

    def visit(self, path: str) -> tuple[Page, bytes]:
        """Count a visit of *path*; return the page and its body at this visit."""
        with self._lock:
            self._visits[path] += 1
            count = self._visits[path]
        page = self.pages.get(path) or missing(path)
        return page, page.render(count)

    def handle_error(self, *arguments: Any) -> None:
        """Ignore clients that disconnect, such as a crawl that is stopped."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*arguments)


class _Handler(BaseHTTPRequestHandler):
    server: _Host
    timeout = 5  # a client that connects and says nothing must not hold up stop()

    def do_GET(self) -> None:
        self.wfile.write(self._head())

    def do_HEAD(self) -> None:
        self._head()

    def _head(self) -> bytes:
        """Send the status and the headers and return the body."""
        page, body = self.server.visit(self.path)
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(body)))
        if page.location is not None:
            self.send_header("Location", page.location)
        self.end_headers()
        return body

    def log_message(self, format: str, *args: object) -> None:
        """Write no access log."""
