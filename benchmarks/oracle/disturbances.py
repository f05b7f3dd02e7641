"""What happens to a crawl: each of these crawls, disturbs, and says whether that came in time."""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from random import Random

from dedup.stores.ledger_file import LedgerFile, LedgerInUseError, lock
from oracle import disks
from oracle.crawling import Crawl, Violations, children, nap, send, send_to
from oracle.faults import Fault

# About as many as a crawl makes; of a compressed feed, there are few writes.
_MOST_CALLS = {"write": 36, "replace": 2, "sql": 30, "commit": 8, "committed": 8}


@dataclass
class Disturber:
    """Disturbs one run of a crawl, with what it needs for that."""

    crawl: Crawl
    rng: Random
    found: Violations

    def _began(self) -> ForkServerProcess:
        """Start a crawl, and wait until some of its pages were given."""
        process = self.crawl.start()
        # A job that is resumed has fewer and fewer left.
        pages = len(self.crawl.scenario.contents.pages) // (3 if self.crawl.job else 1)
        self.crawl.wait_for_pages(process, self.rng.randint(1, pages))
        nap(self.rng, 0.1)
        return process

    def _ended(self, process: ForkServerProcess, *, after: str = "") -> int | None:
        """Wait for the end; *after*: what has happened, if it may cost that crawl no content."""
        code = self.crawl.end(process)
        if code is None:
            self.found["hangs"].append(self.crawl.last_words())
        if after and code == 0 and not (self.crawl.job or self.crawl.was_refused()):
            self.crawl.check_contents(self.found, after)
        return code

    def _killed(self, process: ForkServerProcess) -> bool:
        process.kill()
        return self._ended(process) == -signal.SIGKILL

    def kill(self) -> bool:
        return self._killed(self._began())

    def kill_late(self) -> bool:
        """After the last pages, when the feeds and the ledger are closed."""
        process, server = self.crawl.start(), self.crawl.server
        given, seconds = -1, 20.0
        while process.is_alive() and len(server.given) != given:
            given = len(server.given)
            server.wait_for(given + 1, process.is_alive, seconds)
            seconds = 0.06
        nap(self.rng, 0.15)
        return self._killed(process)

    def planted(self, does: Sequence[str], calls: Sequence[str], times: Sequence[int]) -> bool:
        """One of *calls* kills the crawler or fails, once or for a while."""
        does, call = self.rng.choice(does), self.rng.choice(calls)
        under = self.crawl.feeds if call == "write" else self.crawl.folder
        if call == "write" and self.rng.random() < 0.4:
            under = self.crawl.folder / self.crawl.scenario.settings.get("DEDUP_DUPLICATES", "")
        nth = self.rng.randint(1, self.rng.choice((3, 10, _MOST_CALLS[call])))
        fault = Fault(call, nth, does, self.rng.choice(times), str(under))
        code = self._ended(self.crawl.start(fault=fault))
        if does in ("kill", "tear"):
            return code == -signal.SIGKILL
        return self.crawl.notes.exists()

    def signalled(self, *signals: int) -> bool:
        process = self._began()
        sent = False
        for number in signals:
            sent = send(process, number)
            nap(self.rng, 0.05)
        self._ended(process)
        return sent

    def disturb_workers(self) -> bool:
        """A storm: worker after worker dies, or stands still, for longer than a page may take."""
        process = self._began()
        does = self.rng.choice((signal.SIGKILL, signal.SIGSTOP))
        disturbed = set[int]()
        for _ in range(self.rng.randint(1, 12)):
            disturbed |= {pid for pid in children(process.pid or 0) if send_to(pid, does)}
            nap(self.rng, 0.15)
        process.join(self.rng.uniform(0, 4) if does == signal.SIGSTOP else 0)
        for worker in disturbed:
            send_to(worker, signal.SIGCONT)
        self._ended(process, after="workers died or stood still")
        return bool(disturbed)

    def filled(self, folder: Path) -> bool:
        """A disk is full, for a moment or up to the end, which may be a kill."""
        rng = self.rng
        if rng.random() < 0.3:  # from the start
            disks.fill(folder)
            process = self.crawl.start()
            self.crawl.wait_for_pages(process, 1)
            was_alive = True
        else:
            process = self._began()
            disks.fill(folder)
            was_alive = process.is_alive()
        if rng.random() < 0.7:
            self.crawl.wait_for_pages(process, rng.randint(1, 60))
            if rng.random() < 0.3:
                was_alive = self._killed(process)
            disks.free(folder)
        costs_items = folder == self.crawl.feeds
        self._ended(process, after="" if costs_items else f"the disk of {folder.name} was full")
        disks.free(folder)
        return was_alive

    def second(self) -> bool:
        """A second process wants the ledger; the first one stands still, or is then killed."""
        first = self._began()
        # At its end, a crawl gives the ledger back before it is gone.
        if not (send(first, signal.SIGSTOP) and self._is_ledger_held()):
            send(first, signal.SIGCONT)
            self._ended(first)
            return False
        log = self.crawl.folder / "log of the second"
        code = self.crawl.end(self.crawl.start(agent="second", log=log), 20)
        if code in (0, None) or "in use" not in log.read_text().replace("used by", "in use"):
            self.found["a second process is not refused"].append(f"exit code {code}")
        if any(agent == "second" for agent, _ in self.crawl.server.given):
            self.found["a second process crawls"].append("")
        if self.rng.random() < 0.5:
            self._killed(first)
        else:
            send(first, signal.SIGCONT)
            self._ended(first, after="a second process was refused")
        return True

    def _is_ledger_held(self) -> bool:
        try:
            with lock(LedgerFile(self.crawl.ledger)):
                return False
        except LedgerInUseError:
            return True

    def remove_ledger(self) -> bool:
        """After a kill the ledger is removed, but what SQLite keeps beside it; and all feeds."""
        was_killed = self.kill()
        if not self.crawl.ledger.exists():
            return False
        self.crawl.ledger.unlink()
        for path in self.crawl.paths():
            path.unlink()
        return was_killed

    def dry_run(self) -> bool:
        """A crawl with the ledger, and nothing that stores its items."""
        changes = {"FEEDS": {}, "ITEM_PIPELINES": {}}
        self._ended(self.crawl.start(changes=changes))
        return True


@dataclass(frozen=True)
class Disturbance:
    play: Callable[[Disturber], bool]
    weight: int = 1
    is_kill: bool = False
    needs_disks: bool = False
    needs_workers: bool = False


def _kill(play: Callable[[Disturber], bool], weight: int) -> Disturbance:
    return Disturbance(play, weight, is_kill=True)


_CALLS = ("write", "write", "replace", "sql", "commit")
DISTURBANCES: dict[str, Disturbance] = {
    "kill": _kill(Disturber.kill, 10),
    "kill at the end": _kill(Disturber.kill_late, 4),
    "kill at a call": _kill(lambda one: one.planted(["kill"], [*_CALLS, "committed"], [1]), 8),
    "tear": _kill(lambda one: one.planted(["tear"], ["write"], [1]), 8),
    "ledger removed": _kill(Disturber.remove_ledger, 1),
    "error of a call": Disturbance(
        lambda one: one.planted(["ENOSPC", "EIO"], ["write", *_CALLS], [1, 1, 3, 30]), 2
    ),
    "SIGTERM": Disturbance(lambda one: one.signalled(signal.SIGTERM)),
    "Ctrl-C": Disturbance(lambda one: one.signalled(signal.SIGINT)),
    "two Ctrl-C": Disturbance(lambda one: one.signalled(signal.SIGINT, signal.SIGINT)),
    "workers": Disturbance(Disturber.disturb_workers, 2, needs_workers=True),
    "full feed disk": Disturbance(lambda one: one.filled(one.crawl.feeds), 2, needs_disks=True),
    "full ledger disk": Disturbance(lambda one: one.filled(one.crawl.disk), needs_disks=True),
    "second process": Disturbance(Disturber.second),
    "dry run": Disturbance(Disturber.dry_run),
}
