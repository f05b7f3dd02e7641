"""A real server of PostgreSQL, which tests may kill, pause and start again."""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from glob import glob
from pathlib import Path
from urllib.parse import quote

import psycopg
from log_servers import LogServer, skip_without_server
from processes import children_of, is_running, seconds_until
from redis_server import free_port

from dedup.stores.log import LEASE
from dedup.stores.postgres_log import PostgresLog

PASSWORD = "p:a/s@s w?o#rd%"
# It is often not in the path, and there may be several: the newest one.
FOLDERS = [*sorted(glob("/usr/lib/postgresql/*/bin"), key=len)[::-1], "/usr/local/bin", "/usr/bin"]


def programs():
    """Return the folder of the server's programs, or skip the test."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *FOLDERS])
    if (found := shutil.which("initdb", path=path)) is None:
        skip_without_server(f"PostgreSQL is not installed: no initdb is in {path}")
    return Path(found).parent


_TEMPORARY = tempfile.gettempdir()


class PostgresServer:
    """A server with data of its own, on loopback."""

    def __init__(self, *options):
        self._programs = programs()
        # Not pytest's folder, nor one of a test, into which only the user of the tests can look.
        self.folder = Path(tempfile.mkdtemp(prefix="dedup-postgres-", dir=_TEMPORARY))
        self._data = self.folder / "data"
        # It does not run as root.
        self._as = {}
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            self._as = {"user": "postgres", "group": "postgres", "extra_groups": []}
        self.port = free_port()
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        command = [
            self._programs / "initdb", "-D", self._data, "--no-sync", "--auth=scram-sha-256",
            "--username=admin", "--encoding=UTF8", "--no-locale", f"--pwfile={secret}",
        ]  # fmt: skip
        subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, check=True, **self._as)
        settings = [
            f"port={self.port}", "listen_addresses=127.0.0.1",
            f"unix_socket_directories={self.folder}", "max_connections=50", *options,
        ]  # fmt: skip
        with (self._data / "postgresql.auto.conf").open("a") as file:
            for setting in settings:
                name, _, value = setting.partition("=")
                file.write(f"{name} = '{value}'\n")
        self._databases = 0
        self.start()

    @property
    def log(self):
        return (self.folder / "log").read_text()

    def start(self):
        # It is a child of the tests, so that it is gone for everybody as soon as it has ended.
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as,
            )  # fmt: skip
        while True:
            try:
                return self.run("SELECT 1")
            except psycopg.OperationalError:
                assert self._process.poll() is None, self.log
                time.sleep(0.02)

    def stop(self):
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)

    def _signal(self, number):
        """Send a signal to all of its processes, and return their ids."""
        self._process.send_signal(signal.SIGSTOP)  # so that it starts no more
        processes = [*children_of(self._process.pid), self._process.pid]
        for process in processes:
            os.kill(process, number)
        return processes

    def kill(self):
        """End it at once, as a crash does; `start` works again."""
        processes = self._signal(signal.SIGKILL)
        self._process.wait(60)
        seconds_until(lambda: not any(map(is_running, processes)), 30)
        # Where nobody takes note of its end soon, the next one would take it for alive.
        for file in (self._data / "postmaster.pid", self.folder / f".s.PGSQL.{self.port}.lock"):
            file.unlink(missing_ok=True)

    @contextmanager
    def paused(self):
        """Have all of its processes stand still."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def url(self, database="postgres", *, user="admin", password=PASSWORD, port=None, query=""):
        place = f"127.0.0.1:{port or self.port}"
        return f"postgresql://{user}:{quote(password, safe='')}@{place}/{database}{query}"

    def run(self, *statements, database="postgres", **arguments):
        """Return the rows of the last of some *statements*."""
        with psycopg.connect(self.url(database, **arguments), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def new_database(self, options=""):
        """Create an empty database, and return its name."""
        self._databases += 1
        name = f"crawls{self._databases}"
        self.run(f"CREATE DATABASE {name} {options}")
        return name

    def remove(self):
        self.kill()  # a proper end would write all that is about to be removed
        shutil.rmtree(self.folder)


@cache
def shared_server():
    """Return the server of all tests of this process that leave it running as it was."""
    server = PostgresServer("fsync=off")  # it is killed at times, but the machine goes on
    atexit.register(server.remove)
    return server


class PostgresLogServer(LogServer):
    """Logs in a database of the server that tests share."""

    password = PASSWORD

    def __init__(self, folder):
        super().__init__(folder)
        self._server = shared_server()
        self._database = self._server.new_database()

    can_crash = True

    @property
    def port(self):
        return self._server.port

    def url(self, namespace):
        return self._server.url(self._database, query=f"?namespace={namespace}")

    def connect(self, namespace, lease=LEASE):
        return PostgresLog(self.url(namespace), lease=lease)

    def contents(self, namespace):
        with psycopg.connect(self._server.url(self._database)) as connection:
            tables = connection.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r' "
                "AND relnamespace = to_regnamespace('dedup') ORDER BY relname"
            ).fetchall()
            return {
                name: sorted(map(str, connection.execute(f"TABLE dedup.{name}")))
                for (name,) in tables
            }

    @contextmanager
    def down(self):
        self._server.stop()
        yield
        self._server.start()
