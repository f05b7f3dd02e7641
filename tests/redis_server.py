"""A real Redis server on loopback, for tests that stop it, kill it and start it again."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_SECONDS_TO_START = 30.0


class RedisServer:
    """A server with a folder of its own, which ends with the process that started it.

    *options* are as in redis.conf, without the dashes: `RedisServer(folder, maxmemory="3mb")`.
    """

    def __init__(self, folder: Path, **options: str) -> None:
        self._folder = folder
        self.socket = folder / "socket"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(folder),
            "logfile": str(folder / "log"),
            "unixsocket": str(self.socket),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "everysec",
            **options,
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and return when it answers."""
        command = ["redis-server"]
        for name, value in self._options.items():
            command += [f"--{name}", value]
        if shutil.which("setpriv"):  # so that it ends with us, however we do
            command = ["setpriv", "--pdeathsig", "KILL", *command]
        self._process = subprocess.Popen(command)
        end = time.monotonic() + _SECONDS_TO_START
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.01)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_SECONDS_TO_START)
            try:
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                return not client.recv(100).startswith((b"-LOADING", b"-MASTERDOWN"))
            except OSError:
                return False

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it as nothing can prevent it."""
        self.signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()
        self.socket.unlink(missing_ok=True)


@contextmanager
def redis_server(**options: str) -> Iterator[RedisServer]:
    """Run a server; skips the test if there is none to run."""
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not installed")
    # The path of a socket has little room, so pytest's folder is too long.
    with tempfile.TemporaryDirectory(prefix="redis") as folder:
        server = RedisServer(Path(folder), **options)
        server.start()
        try:
            yield server
        finally:
            server.kill()
