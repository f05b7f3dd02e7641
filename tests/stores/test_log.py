"""What every log has to do: one suite; a new log is tested by the line of its server in `LOGS`.

That is in `conftest.py`.
"""

import asyncio
import random
from secrets import token_bytes

import pytest
from cases import examples
from ledgers import commits_of, record
from log_servers import down, refused
from memory_log import MemoryLog, Server
from proxy import Proxy

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.record import Claimed, Committed, PageRecord, Released
from dedup.stores import StoreDownError
from dedup.stores.base import DuplicateNote
from dedup.stores.log import LEASE, MOST_ENTRIES, Found, Joined, Request

IDENTITY = {"method": "simhash", "version": 1, "scope": "crawl", "é": [None, 1.5, {"a": True}]}
ITEMS = (b"", b"a value!", b"a value!another!")
"""What items may say."""
SHORT = 0.2
"""A lease that ends in a test, in seconds."""
STRANGE = {
    "empty": "",
    "NUL": "a\0b\0",
    "surrogates": "\ud800\udfff \udfff\ud800",
    "long": "é" * 100_000,
    "SQL": "a' OR 1=1; --",
    "emoji": "\U0001f600\n\r\t",
    "escapes": "%s\\u0000{}\\x00$1:1",
}


class Process:
    """What takes part in a log: counts its requests and claims, and follows."""

    def __init__(self, log, owner=None):
        self.log = log
        self.owner = owner or token_bytes(8)
        self.run = 1
        self.seen = 0
        self.followed = []
        self._turn = self._serial = 0

    async def join(self, *, spider="test", job=None, identity=IDENTITY, reset=False):
        joined = await self.log.join(self.owner, spider, job, identity, reset=reset)
        self.run, self.joined = joined.run, joined
        return joined

    def request(self, claims=(), seen=None, commits=(), **more):
        """A request that claims the records *claims*; *commits* as `commits_of` takes them."""
        self._turn += 1
        numbered = []
        for claim in claims:
            self._serial += 1
            numbered.append((self._serial, Claimed(claim)))
        seen = self.seen if seen is None else seen
        return Request(
            self.owner, self._turn, self.run, seen, commits_of(commits), claims=numbered, **more
        )

    async def exchange(self, claims=(), **more):
        return await self.log.exchange(self.request(claims, **more))

    async def claim(self, *claims):
        """Claim, and return the claims as those are named: number and serial."""
        answer = await self.exchange(claims)
        serials = range(self._serial - len(claims) + 1, self._serial + 1)
        return list(zip(answer.made, serials, strict=True))

    async def store(self, *claims, items=None, replaces=()):
        """Claim and commit; return the numbers."""
        made = await self.claim(*claims)
        commits = [(serial, Committed(number, items, replaces)) for number, serial in made]
        assert (await self.exchange(commits=commits)).lost == []
        return [number for number, _ in made]

    async def leave(self, reason="finished", report=None, texts=()):
        await self.log.leave(self.owner, reason, report, texts)

    async def follow(self):
        """Take over all there is to know."""
        while True:
            answer = await self.exchange()
            new = [entry for entry in answer.entries if entry.position > self.seen]
            if not new:
                return
            self.followed += new
            self.seen = new[-1].position


async def joined(place, lease=LEASE, **how):
    """A process that takes part by a log of its own."""
    process = Process(place.log(lease))
    await process.log.open()
    await process.join(**how)
    return process


async def events(log):
    """All that has happened, position by position."""
    entries = await all_entries(log)
    assert [entry.position for entry in entries] == list(range(1, len(entries) + 1))
    return [entry.event for entry in entries]


async def all_entries(log):
    entries = []
    while piece := await log.entries(entries[-1].position if entries else 0):
        entries += piece
    return entries


async def collected(iterator):
    return [item async for item in iterator]


async def snapshot_of(log):
    return [entry async for piece in log.snapshot() for entry in piece]


def counting(entries):
    """What counts after *entries*: stored pages, with what their items say, and open claims."""
    claims, stored = {}, {}
    for entry in entries:
        match entry.event:
            case Claimed() as claimed:
                claims[entry.position] = claimed, entry.owner, entry.serial, entry.run
            case Committed(number, items, replaces) if number in claims:
                claimed, _, _, run = claims.pop(number)
                items = (claimed.record.item,) if items is None else items
                stored[number] = claimed.record._replace(item=items), run
                for replaced in replaces:
                    stored.pop(replaced, None)
            case Released(number):
                claims.pop(number, None)
    return stored, claims


# Taking part.


async def test_nothing_is_there_before_the_first_joins_and_opening_changes_nothing(place):
    first, second = place.log(), place.log()
    contents = place.contents()
    assert await first.open() is None
    assert await second.open() is None
    assert await collected(first.snapshot()) == []
    assert place.contents() == contents


async def test_a_run_begins_when_the_leases_of_all_have_ended_and_a_killed_job_goes_on_with_its_own(
    place,
):
    killed = await joined(place, SHORT, job="a job")
    await place.server.pass_time(1.5 * SHORT)
    assert await place.log().open() == Found(IDENTITY, False)
    assert (await joined(place)).run > killed.run
    assert (await joined(place, job="a job")).joined == Joined(killed.run, True, False, 0)


async def test_strangers_are_refused_and_change_nothing(place):
    process = await joined(place)
    await process.store(record(1))
    contents, crawls = place.contents(), await process.log.crawls()
    other = {**IDENTITY, "method": "minhash"}
    for reset in (False, True):
        await refused(joined(place, identity=other, reset=reset))
        assert (place.contents(), await process.log.crawls()) == (contents, crawls)
    assert await place.log().open() == Found(IDENTITY, True)


async def test_resetting_forgets_all(place):
    process = await joined(place)
    [[number, serial]] = await process.claim(record(1))
    await process.exchange(
        commits=[(number, serial)],
        claims=[record(2)],
        duplicates=[DuplicateNote("http://b/", number, "near-duplicate", 1.0, 5.0)],
    )
    await process.leave("finished", {}, [("http://a/", None, "text")])
    other = {"method": "minhash"}
    later = await joined(place, reset=True, identity=other)
    assert later.joined == Joined(1, False, True, 0)
    log = later.log
    assert await log.open() == Found(other, True)
    assert await events(log) == await collected(log.snapshot()) == []
    assert await log.pages([1, 2, 3]) == {}
    assert await collected(log.duplicates()) == []
    assert len(await log.crawls()) == 1
    assert (await later.exchange(seen=3)).entries == []


async def test_who_was_away_while_others_began_anew_cannot_bring_in_other_sketches(place):
    away = await joined(place, SHORT)
    await away.claim(record(1))
    await place.server.pass_time(1.5 * SHORT)
    other = await joined(place, identity={"method": "minhash"}, reset=True)
    assert other.joined.is_reset
    await refused(away.exchange([record(2)]), "other settings")
    assert await events(other.log) == []


# Exchanges.


async def test_times_are_those_of_the_server(place):
    process = await joined(place)
    await process.claim(record(1))
    await place.server.pass_time(SHORT)
    await process.claim(record(2))
    [first, second] = await process.log.entries(0)
    assert SHORT * 0.9 <= second.at - first.at < 60


@pytest.mark.slow
async def test_answers_to_thousands_are_bounded_and_the_rest_is_read_and_a_snapshot_is_complete(
    place,
):
    process = await joined(place)
    size = MOST_ENTRIES + 5
    answer = await process.exchange([record(number) for number in range(size)])
    assert answer.made == list(range(1, size + 1))
    assert [entry.position for entry in answer.entries] == answer.made[:MOST_ENTRIES]
    for told in ((await process.exchange(seen=3)).entries, await process.log.entries(2)):
        assert [entry.position for entry in told] == list(range(3, MOST_ENTRIES + 3))
    entries = await process.log.entries(MOST_ENTRIES)
    assert [entry.event.record for entry in entries] == list(map(record, range(size)))[-5:]
    assert await process.log.entries(size) == await process.log.entries(10_000_000_000) == []
    claims = [(number, number) for number in answer.made]  # serials count from 1, as positions do
    values = [number.to_bytes(8, "big") for number in range(256)]
    commits = [
        (n, Committed(n, (b"".join(values[: n % 257]),) * (n % 3), (n - 1,) * (n % 2 == 0)))
        for n in range(1, 5001)
    ]
    answer = await process.exchange(commits=commits, releases=claims[5000:9000])
    assert answer.lost == []
    assert (await process.exchange(commits=claims[:9000])).lost == list(range(1, 9001))
    entries = await all_entries(process.log)
    assert len(entries) == size + 9000
    assert [entry.event for entry in entries[size : size + 5000]] == [event for _, event in commits]
    stored, opened = counting(await snapshot_of(process.log))
    assert (sorted(stored), list(opened)) == ([*range(2, 5001, 2)], [*range(9001, size + 1)])


async def test_requests_that_come_late_or_twice_are_refused_and_change_nothing(place):
    process = await joined(place)
    [claim] = await process.claim(record(1))
    late = process.request([record(2)], releases=[claim])
    now = process.request([record(3)])
    await process.log.exchange(now)
    contents = place.contents()
    for request in (late, now):
        await refused(process.log.exchange(request))
    assert place.contents() == contents
    assert [event.record for event in await events(process.log)] == [record(1), record(3)]
    assert (await process.exchange(commits=[claim])).lost == []


# Leases.


async def test_claims_whose_owner_has_no_lease_are_released_although_others_exchange(place):
    gone, late = await joined(place, SHORT), await joined(place)
    claims = []
    for process in (gone, gone, late):
        [[number, serial]] = await process.claim(record(1))
        claims.append((number, process.owner, serial))
    await place.server.pass_time(1.5 * SHORT)
    await late.exchange()
    await late.log.expire([claims[1], claims[2]])
    entries = await late.log.entries(3)
    assert [(entry.owner, entry.serial, entry.run, entry.event) for entry in entries] == [
        (gone.owner, 2, gone.run, Released(2))
    ]
    await late.log.expire(claims)
    assert (await events(late.log))[4:] == [Released(1)]


async def test_what_is_no_open_claim_of_that_name_does_not_expire(place):
    gone, other = await joined(place, SHORT), await joined(place)
    [stored, opened] = await gone.claim(record(1), record(2))
    await gone.exchange(commits=[stored])
    await place.server.pass_time(1.5 * SHORT)
    number, serial = opened
    nobody = [
        (stored[0], gone.owner, stored[1]), (number, gone.owner, serial + 1),
        (number, other.owner, serial), (3, gone.owner, 1), (99, gone.owner, 9),
    ]  # fmt: skip
    before = await events(other.log)
    for claims in (nobody, []):
        await other.log.expire(claims)
    assert await events(other.log) == before


async def test_each_exchange_renews_the_lease(place):
    process, other = await joined(place, SHORT), await joined(place)
    [claim] = await process.claim(record(1))
    process.log = place.log()
    await process.log.open()
    await process.exchange()
    await place.server.pass_time(1.5 * SHORT)
    await other.log.expire([(claim[0], process.owner, claim[1])])
    assert (await process.exchange(commits=[claim])).lost == []


async def test_after_the_lease_the_commit_of_a_claim_is_lost_only_if_somebody_has_met_it(place):
    """And its owner takes part again."""
    late, other = await joined(place, SHORT), await joined(place)
    claims = [[number, serial], _] = await late.claim(record(1), record(2))
    await place.server.pass_time(1.5 * SHORT)
    await other.log.expire([(number, late.owner, serial)])
    assert (await late.exchange(commits=claims)).lost == [serial]
    assert (await late.exchange([record(3)])).made == [5]


# Reading.


async def test_a_snapshot_is_one_state_or_a_later_one_while_others_go_on(place):
    process, other = await joined(place), await joined(place)
    for number in range(30):
        await process.store(record(number))
    before = await all_entries(process.log)
    found, more = [], 100
    async for piece in process.log.snapshot():
        found += piece
        more += 1
        if more < 110:
            await other.store(record(more))
    await other.exchange(commits=[])
    entries = await all_entries(process.log)
    assert found[-1].position >= before[-1].position
    assert counting(found) == counting(entries[: found[-1].position])


async def test_pages_are_told_by_their_numbers(place):
    process = await joined(place)
    full = PageRecord("http://b/", "host b", 2**63 - 1, b"d" * 16, b"s" * 99,
                      b"e" * SIZE_OF_EVIDENCE, True, b"".join(ITEMS))  # fmt: skip
    empty = PageRecord("http://c/", "", 0, bytes(16), None, None)
    await process.claim(full, empty)
    assert await process.store(record(1)) == [3]
    later = place.log()
    await later.open()
    for log in (process.log, later):
        assert await log.pages([3, 1]) == {1: full, 3: record(1)}
        assert await log.pages(iter([2])) == {2: empty}
        assert await log.pages([]) == await log.pages([4, 5, 0, 99, 10_000_000_000]) == {}
        assert await log.pages([99, 1]) == {1: full}


async def test_any_key_and_scope_is_kept(place):
    texts = [*STRANGE.values()]
    if not place.server.keeps_any_text:  # it is read by tools that know Unicode only
        texts.remove(STRANGE["surrogates"])
    process = await joined(place)
    pages = [record(number, scope=text)._replace(key=text) for number, text in enumerate(texts)]
    numbers = await process.store(*pages)
    notes = [
        DuplicateNote(text, number, "near-duplicate", 0.5, 5.0)
        for number, text in zip(numbers, texts, strict=True)
    ]
    await process.exchange(duplicates=notes)
    log = place.log()
    await log.open()
    assert await log.pages(numbers) == dict(zip(numbers, pages, strict=True))
    assert await events(log) == [
        *(Claimed(page, number) for number, page in zip(numbers, pages, strict=True)),
        *(Committed(number) for number in numbers),
    ]
    found = await collected(log.duplicates())
    assert sorted(found) == sorted((process.run, note) for note in notes)


async def test_any_name_reason_and_report_is_kept(place):
    names = [*STRANGE.values()]
    if not place.server.keeps_any_text:  # it is read by tools that know Unicode only, and cut
        names = [name for name in names if name not in (STRANGE["surrogates"], STRANGE["long"])]
    expected = []
    for text in names:
        job = text or None  # no job has an empty name
        process = await joined(place, spider=text, job=job)
        report = {text: [text, None, 1.5, {"a": True}]}
        await process.leave(text, report, [])
        expected.append((text, job, text, report))
        again = await joined(place, spider=text, job=job)
        assert again.joined == Joined(process.run + (not job), bool(job), False, 0), text
        await again.leave(text, report, [])
        expected.append(expected[-1])
    rows = await process.log.crawls()
    assert [(row.spider, row.job, row.reason, row.report) for row in rows] == expected


async def test_a_later_duplicate_for_a_page_and_key_takes_the_place_of_an_earlier_one(place):
    process, other = await joined(place), await joined(place)
    numbers = await process.store(record(1), record(2))
    kinds = ["exact-duplicate", "near-duplicate"]
    notes = [
        DuplicateNote(key, number, kind, distance, at)
        for at, (kind, distance) in enumerate(zip(kinds, (0.0, 0.25), strict=True))
        for key in ("http://a/", "http://b/")
        for number in numbers
    ]
    await process.exchange(duplicates=notes[:4])
    await other.exchange(duplicates=notes[4:6])
    found = await collected(process.log.duplicates())
    assert sorted(found) == sorted((process.run, note) for note in notes[2:6])
    assert await events(process.log) == await events(other.log)
    assert len(await events(process.log)) == 4


# Whatever comes in between.


async def test_logs_of_other_names_do_not_see_each_other(place):
    first, second = Process(place.log()), Process(place.log(namespace="other"))
    for process, method in ((first, "simhash"), (second, "minhash")):
        assert await process.log.open() is None
        await process.join(identity={"method": method}, spider=method)
    await first.store(record(1))
    await first.exchange(
        duplicates=[DuplicateNote("http://b/", 1, "near-duplicate", 1.0, 5.0)],
    )
    [[number, serial]] = await first.claim(record(2))
    await second.log.expire([(number, first.owner, serial)])
    log = second.log
    await log.leave(first.owner, "finished", None, [])
    assert await events(log) == await collected(log.duplicates()) == []
    assert await log.pages([1]) == {}
    assert [row.spider for row in await log.crawls()] == ["minhash"]
    assert (await second.exchange([record(3)])).made == [1]
    assert await log.open() == Found({"method": "minhash"}, True)
    assert (await first.exchange(commits=[(number, serial)])).lost == []


@pytest.mark.slow
async def test_of_all_who_join_at_once_one_begins_the_run(place):
    processes = [Process(place.log()) for _ in range(8)]
    await asyncio.gather(*(process.log.open() for process in processes))
    found = await asyncio.gather(*(process.join(reset=True) for process in processes))
    assert {joined.run for joined in found} == {found[0].run}
    assert len(await processes[0].log.crawls()) == 8


@pytest.mark.slow
async def test_a_step_that_is_cancelled_leaves_the_log_in_order(place):
    """Nobody takes the answer of another step for his own."""
    chooser = random.Random(1)
    process, other = await joined(place), await joined(place)
    for number in range(100):
        if number % 3:
            step = process.exchange([record(number)], seen=process.seen)
        else:
            step = process.log.pages([1, 2, 3])
        task = asyncio.create_task(step)
        for _ in range(chooser.randrange(10)):
            await asyncio.sleep(chooser.choice([0, 0, 0.0005]))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        while True:  # the connection may have to be made again
            try:
                found = await process.log.entries(0)
                break
            except StoreDownError:
                continue
        assert found[:number] == (await other.log.entries(0))[: len(found)][:number]
        answer = await process.exchange([record(1000 + number)])
        [made] = answer.made
        assert (await other.log.pages([made]))[made] == record(1000 + number)
    positions = [entry.position for entry in await all_entries(other.log)]
    assert positions == list(range(1, len(positions) + 1))


def all_steps(process, claim):
    """All that a process with an open *claim* may want of its log."""
    log, (number, serial) = process.log, claim
    return [
        process.exchange(commits=[claim]), process.join(), log.open(), log.pages([1]),
        log.expire([(number, process.owner, serial)]), log.crawls(), log.entries(0),
        collected(log.snapshot()), collected(log.duplicates()),
        log.leave(process.owner, "finished", None, []),
    ]  # fmt: skip


@pytest.mark.slow
async def test_a_server_that_is_out_of_reach_is_told_as_such_and_may_come_back(place):
    outage = place.server.down()
    if outage is None:
        pytest.skip("it cannot be out of reach")
    process = await joined(place)
    [claim] = await process.claim(record(1))
    late = place.log()
    with outage:
        for step in (late.open(), *all_steps(process, claim)):
            error = await down(step)
            told = f"{error} {error!r} {process.log.name}"
            assert place.server.password is None or place.server.password not in told
    assert (await process.exchange(commits=[claim])).lost == []
    assert await late.open() == Found(IDENTITY, True)


@pytest.fixture
def far(place):
    """A place to which there is a way by a network."""
    if place.server.port is None:
        pytest.skip("there is no network between")
    return place


@pytest.mark.slow
async def test_an_answer_that_is_lost_says_nothing_of_the_step_which_is_done_once(far):
    async with Proxy(far.server.port) as way:
        process = Process(far.log_by(way.port))
        await process.join()
        await process.exchange([record(1)])  # so that there is a connection, in full use
        way.is_cut = True
        await down(process.exchange([record(2)]))
        way.is_cut = False
        assert (await process.exchange([record(3)])).made == [3]
        assert [event.record for event in await events(process.log)] == list(map(record, (1, 2, 3)))


@pytest.mark.slow
async def test_no_step_waits_longer_than_the_timeout(far):
    process = await joined(far)
    [claim] = await process.claim(record(1))
    async with Proxy(far.server.port) as way:
        process.log = far.log_by(way.port, SHORT)
        way.is_open.clear()
        for step in all_steps(process, claim):
            await down(asyncio.wait_for(step, 20), "did not answer within")
        await process.log.close()


async def test_a_log_can_be_closed_twice_and_without_being_opened(place):
    process = await joined(place)
    unused = place.log()
    for log in (process.log, unused, process.log, unused):
        await log.close()
    later = place.log()
    assert await later.open() == Found(IDENTITY, True)


async def play(log, chooser):
    """Do what comes to mind, as often with claims of others as with one's own.

    Returns what was answered, and what is there at last, but for the times.
    """
    await log.open()
    processes = [Process(log, bytes([number]) * 8) for number in range(3)]
    unknown = 99, processes[0].owner, 99
    claims, stored, told = [unknown] * 9, [], []

    def some(things, most=3):
        return tuple(chooser.choices(things, k=chooser.randrange(most + 1))) if things else ()

    async def join(process):
        joined = await process.join(reset=chooser.random() < 0.5, job=chooser.choice(["j", None]))
        told.append(joined)
        if joined.is_reset:
            claims[:], stored[:] = [unknown] * 9, []

    async def leave(process):
        await log.leave(process.owner, chooser.choice(["finished", "shutdown"]), None, [])

    async def expire(process):
        await log.expire(some(claims))

    async def exchange(process):
        seen = chooser.randrange(9)
        request = process.request(
            [record(seen)] * chooser.randrange(4),
            seen,
            [
                (serial, Committed(number, chooser.choice([None, some(ITEMS)]), some(stored)))
                for number, _, serial in some(claims)
            ],
            releases=[(number, serial) for number, _, serial in some(claims, 2)],
        )
        answer = await log.exchange(request)
        told.append((without_times(answer.entries), answer.made, answer.lost))
        stored.extend(e.number for serial, e in request.commits if serial not in answer.lost)
        for number, (serial, _) in zip(answer.made, request.claims, strict=True):
            claims[:] = [(number, process.owner, serial), *claims[:-1]]

    await processes[0].join()
    for _ in range(25):
        step = chooser.choice([join, leave, expire, *[exchange] * 3])
        await step(chooser.choice(processes))
    rows = [row._replace(started=0, finished=None) for row in await log.crawls()]
    entries, snapshot = await all_entries(log), await snapshot_of(log)
    assert snapshot[-1:] == entries[-1:]
    assert without_runs(counting(snapshot)) == without_runs(counting(entries))
    return told, sorted(rows, key=str), without_times(entries)


@pytest.mark.slow
async def test_whatever_is_done_it_answers_as_the_log_in_memory(place):
    for seed in range(examples(60)):
        expected = await play(MemoryLog(Server()), random.Random(seed))
        found = await play(place.log(namespace=f"seed{seed}"), random.Random(seed))
        assert found == expected, seed


def without_runs(found):
    """What counts, but of which run a page is: a ledger takes the last one of who stored it."""
    stored, *others = found
    return {number: page for number, (page, _) in stored.items()}, others


def without_times(entries):
    return [entry._replace(at=0) for entry in entries]
