"""A real Redis server on loopback, for tests that stop it, kill it and start it again."""

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from log_servers import LogServer, skip_without_server
from redis import Redis

from dedup.stores.log import LEASE
from dedup.stores.redis_log import RedisLog

_SECONDS_TO_START = 30.0


def free_port() -> int:
    """Return a port of loopback that nobody listens to."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class RedisServer:
    """A server with a folder of its own, which ends with the process that started it.

    *options* are as in redis.conf, with underscores: `RedisServer(folder, maxmemory="3mb")`. *tls*:
    whether its port takes TLS, and nothing else.
    """

    def __init__(self, folder: Path, *, tls: bool = False, **options: str) -> None:
        self._log = folder / "log"
        self.data = folder / "appendonlydir"
        """Where it writes what it has."""
        self.socket = folder / "socket"
        self.port = free_port()
        self._options = {
            "bind": "127.0.0.1",
            "port": "0" if tls else str(self.port),
            "tls-port": str(self.port) if tls else "0",
            "dir": str(folder),
            "logfile": str(self._log),
            "unixsocket": str(self.socket),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "everysec",
            **{name.replace("_", "-"): value for name, value in options.items()},
        }

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self, **how: Any) -> Redis:
        """Return another client, which goes in by a door of its own; close it."""
        return Redis(unix_socket_path=str(self.socket), **how)

    def start(self) -> None:
        """Start it, and return when it has loaded what it had."""
        command = [_program() or "redis-server"]
        for name, value in self._options.items():
            command += [f"--{name}", value]
        if shutil.which("setpriv"):  # so that it ends with us, however we do
            command = ["setpriv", "--pdeathsig", "KILL", *command]
        self._log.write_bytes(b"")
        self._process = subprocess.Popen(command)
        end = time.monotonic() + _SECONDS_TO_START
        # A server with a password answers while it is loading, too.
        while b"eady to accept connections" not in self._log.read_bytes():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < end, self._log.read_text()
            time.sleep(0.01)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill it as nothing can prevent it."""
        self._process.kill()
        self._process.wait()
        self.socket.unlink(missing_ok=True)


class RedisLogServer(LogServer):
    """A server with a password."""

    password = "a secret: / ? #"
    can_crash = can_shrink = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        # Then it writes before it answers, and what it has acknowledged is there when it is killed.
        options = {"requirepass": self.password, "appendfsync": "no"}
        self._server = self._closing.enter_context(redis_server(**options))

    @property
    def port(self) -> int:
        return self._server.port

    def url(self, namespace: str) -> str:
        return f"redis://:{quote(self.password, '')}@127.0.0.1:{self.port}/0?namespace={namespace}"

    def connect(self, namespace: str, lease: float = LEASE) -> RedisLog:
        return RedisLog(self.url(namespace), lease=lease)

    def contents(self, namespace: str) -> dict[bytes, bytes]:
        with self._server.client(password=self.password) as client:
            keys = client.keys(f"{{dedup:{namespace}}}:*")
            return {key: client.dump(key) for key in keys}

    @contextmanager
    def down(self) -> Iterator[None]:
        self._server.kill()
        yield
        self._server.start()

    def backup(self) -> None:
        shutil.rmtree(self.folder / "backup", ignore_errors=True)
        shutil.copytree(self._server.data, self.folder / "backup")

    def restore(self) -> None:
        self._server.kill()
        shutil.rmtree(self._server.data)
        shutil.copytree(self.folder / "backup", self._server.data)
        self._server.start()


def _program() -> str | None:
    return shutil.which("redis-server") or shutil.which("valkey-server")


@contextmanager
def redis_server(**options: Any) -> Iterator[RedisServer]:
    """Run a server; skips the test if there is none to run."""
    if _program() is None:
        skip_without_server("neither redis-server nor valkey-server is installed")
    # The path of a socket has little room, so pytest's folder is too long.
    with tempfile.TemporaryDirectory(prefix="redis") as folder:
        server = RedisServer(Path(folder), **options)
        server.start()
        try:
            yield server
        finally:
            server.kill()
