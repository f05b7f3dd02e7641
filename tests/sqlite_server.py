"""Logs in SQLite files, of which the processes of the machine are the server."""

import json
import sqlite3
from contextlib import closing
from urllib.parse import urlsplit

from log_servers import LogServer

from dedup.stores.base import Crawl, DuplicateNote
from dedup.stores.log import LEASE
from dedup.stores.sqlite_log import SqliteLog


class ReadableLog(SqliteLog):
    """A log that also tells what a server's log tells commands, which read the file itself."""

    async def crawls(self):
        query = "SELECT run, position, spider, job, started, finished, reason, report FROM crawls"
        return [
            Crawl(*values, report and json.loads(report))
            for *values, report in self._rows(f"{query} ORDER BY id")
        ]

    async def duplicates(self):
        query = (
            "SELECT coalesce(run, crawl), url, page, kind, distance, found FROM matches "
            "LEFT JOIN crawls ON crawls.id = crawl ORDER BY matches.rowid"
        )
        for run, *values in self._rows(query):
            yield run, DuplicateNote(*values)

    def _rows(self, query):
        with closing(sqlite3.connect(self.name)) as file:
            return file.execute(query).fetchall()


def log_at(url, *, lease=LEASE):
    """The log at `sqlite:///path`."""
    return ReadableLog(urlsplit(url).path, lease=lease)


class SqliteServer(LogServer):
    """A folder of files; one can be put back as it was at a `backup` while processes use it."""

    keeps_any_text = False
    can_shrink = True

    def url(self, namespace):
        return f"sqlite://{self._path(namespace)}"

    def _path(self, namespace):
        return self.folder / f"{namespace}.sqlite"

    def connect(self, namespace, lease=LEASE):
        return ReadableLog(self._path(namespace), lease=lease)

    def contents(self, namespace):
        if not self._path(namespace).exists():
            return []
        with closing(sqlite3.connect(self._path(namespace))) as file:
            return list(file.iterdump())

    def backup(self):
        for path in self.folder.glob("*.sqlite"):
            _copy(path, path.with_suffix(".backup"))

    def restore(self):
        for path in self.folder.glob("*.backup"):
            _copy(path, path.with_suffix(".sqlite"))


def _copy(source, target):
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
