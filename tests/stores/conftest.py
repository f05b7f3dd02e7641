"""The servers of all logs, and a file for a ledger."""

import pytest
from log_servers import Place
from memory_log import MemoryServer
from postgres_server import PostgresLogServer
from redis_server import RedisLogServer
from sqlite_server import SqliteServer

LOGS = {
    "memory": MemoryServer,
    "redis": RedisLogServer,
    "sqlite": SqliteServer,
    # What takes longest is tried where there is time.
    "PostgreSQL": pytest.param(PostgresLogServer, marks=pytest.mark.slow),
}
"""The servers by name."""


@pytest.fixture(scope="module", params=LOGS.values(), ids=LOGS)
def server(request, tmp_path_factory):
    server = request.param(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


@pytest.fixture
def place(server):
    """Where the logs of a test are; they are closed at its end."""
    return Place(server)


@pytest.fixture
def path(tmp_path):
    """Where a ledger is, or is to be."""
    return tmp_path / "pages.sqlite"
