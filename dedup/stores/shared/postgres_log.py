"""A log in PostgreSQL: what the functions of postgres_log.sql do, each of them one transaction."""

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

from dedup.record import Preferred
from dedup.stores.base import Texts
from dedup.stores.identity import check_identity
from dedup.stores.shared.entries import tail_of, to_bytes
from dedup.stores.shared.log import (
    LEASE,
    MOST_ENTRIES,
    MOST_TEXTS,
    Answer,
    Entry,
    Found,
    Joined,
    Member,
    Request,
)
from dedup.stores.shared.postgres_arrays import array_of, arrays_of, arrays_of_claims
from dedup.stores.shared.postgres_reader import PostgresReader
from dedup.stores.shared.postgres_schema import has_schema, make_schema
from dedup.text import to_utf8

_TEXTS_AT_A_TIME = 100


class PostgresLog(PostgresReader):
    """A log in a schema `dedup` of a PostgreSQL database, which may have several, by namespace.

    Calls wait for each other: there is one connection, which is the log's own (PgBouncer must pool
    by session). After an error the next call makes another. Acknowledged commits are lost only with
    the disks of the server, or if a standby that lags behind takes its place.
    """

    def __init__(
        self, url: str, timeout: float = 10.0, *, lease: float = LEASE, most_texts: int = MOST_TEXTS
    ) -> None:
        """Take *url*, ``postgresql://user:password@host:port/database?namespace=...``.

        All but the *namespace* is libpq's: several hosts, ``sslmode``, the file of passwords, the
        variables of the environment. No call takes longer than *timeout* seconds. *most_texts*: how
        many texts are kept; at least those of the process that leaves. Raises LedgerError for a URL
        that is none.
        """
        super().__init__(url, timeout, lease=lease, most_texts=most_texts)
        self._signature: bytes | None = None

    async def open(self) -> Found | None:
        self._client.was_right = False
        if not await has_schema(self._client):
            self._client.was_right = True
            return None
        rows = await self._client.query(
            """
            SELECT identity, EXISTS (
                SELECT FROM dedup.members
                WHERE log = id AND lease > date_part('epoch', clock_timestamp())
            ) FROM dedup.logs WHERE namespace = %s
            """,
            self._namespace,
        )
        self._client.was_right = True
        return Found(json.loads(rows[0][0]), rows[0][1]) if rows else None

    async def join(self, member: Member, identity: Mapping[str, Any], *, reset: bool) -> Joined:
        if not await has_schema(self._client):
            await make_schema(self._client)
        text = json.dumps(identity, sort_keys=True, default=str)
        signature = blake2b(text.encode(), digest_size=16).digest()
        [[run, is_resumed, is_reset, position, other]] = await self._client.query(
            "SELECT * FROM dedup.join(%s, %s, %s, %s, %s, %s, %s, %s)",
            self._namespace, signature, text, member.owner, to_utf8(member.spider),
            None if member.job is None else to_utf8(member.job), self.lease, reset,
        )  # fmt: skip
        if other is not None:
            check_identity(self.name, json.loads(other), json.loads(text), is_resumed=is_resumed)
        self._signature = signature
        while await self._client.query("SELECT dedup.sweep(%s)", str(MOST_ENTRIES)) == [(True,)]:
            pass
        return Joined(run, is_resumed, is_reset, position)

    async def exchange(self, request: Request) -> Answer:
        owner, run = request.owner, request.run
        preferred = [
            to_bytes(Entry(0, owner, 0, run, 0.0, Preferred(number, key)))
            for number, key in request.preferred.items()
        ]
        claims = [
            to_bytes(Entry(0, owner, serial, run, 0.0, claimed))
            for serial, claimed in request.claims
        ]
        [[last, ended, entries]] = await self._client.query(
            """
            SELECT * FROM dedup.exchange(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,
                %s, %s, %s, %s, %s, %s, %s, %s)
            """,
            self._namespace, self._signature, owner, str(request.turn), str(run),
            str(request.seen), self.lease, str(MOST_ENTRIES),
            *arrays_of_claims((event.number, owner, serial) for serial, event in request.commits),
            array_of([tail_of(event) for _, event in request.commits]),
            *arrays_of_claims((number, owner, serial) for number, serial in request.releases),
            array_of([*preferred, *claims]),
            *arrays_of(
                [
                    (note.number, to_utf8(note.key), to_utf8(note.kind), note.distance, note.at)
                    for note in request.duplicates
                ],
                5,
            ),
            *arrays_of(request.seen_again.items(), 2),
        )  # fmt: skip
        made = list(range(last + 1 - len(claims), last + 1))
        stored = set(ended or ())
        lost = [serial for n, (serial, _) in enumerate(request.commits, 1) if n not in stored]
        first = max(request.seen, 1)
        return Answer(self._entries(first, self._checked(first, last, entries)), made, lost)

    async def expire(self, claims: Sequence[tuple[int, bytes, int]]) -> float:
        [[left]] = await self._client.query(
            "SELECT dedup.expire(%s, %s, %s, %s)",
            self._namespace, self._signature, *arrays_of_claims(claims),
        )  # fmt: skip
        return math.inf if left is None else float(left)

    async def leave(
        self, owner: bytes, reason: str, report: Mapping[str, Any] | None, texts: Texts
    ) -> None:
        await self._client.query(
            "SELECT dedup.leave(%s, %s, %s, %s, %s)",
            self._namespace, self._signature, owner, to_utf8(reason),
            None
            if report is None
            else to_utf8(json.dumps(report, ensure_ascii=False, default=str)),
        )  # fmt: skip
        left, count = iter(texts), 0
        while part := list(islice(left, _TEXTS_AT_A_TIME)):
            count += len(part)
            rows = [
                (
                    to_utf8(url),
                    None if title is None else to_utf8(title),
                    zlib.compress(to_utf8(text)),
                )
                for url, title, text in part
            ]
            await self._client.query(
                "SELECT dedup.keep_texts(%s, %s, %s, %s, %s, %s)",
                self._namespace, self._signature, str(max(count, self._most_texts)),
                *arrays_of(rows, 3),
            )  # fmt: skip

    async def close(self) -> None:
        await self._client.close()
