"""What a crawl knows from earlier ones: its store is opened, and the detector made of it."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4
from weakref import WeakKeyDictionary

from scrapy.utils.asyncio import is_asyncio_available

from dedup.detector import Detector
from dedup.logs import get_logger
from dedup.scrapy_plugin.awaiting import wait_for_call
from dedup.scrapy_plugin.settings.crawl import LEDGER_OF_A_JOB, DedupSettings
from dedup.scrapy_plugin.settings.values import SettingError, as_switch
from dedup.stores import (
    LedgerError,
    LedgerInUseError,
    MemoryStore,
    SqliteStore,
    Store,
    finished,
)
from dedup.stores.shared.places import open_log
from dedup.stores.shared.store import SharedStore
from dedup.units import count_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

RESET_ARGUMENT = "dedup_reset"
_SECONDS_OF_A_LINE = 2.0
_SECONDS_BETWEEN_TRIES = 1.0
_SECONDS_OF_A_LINE_WHILE_IN_USE = 60.0
_MOST_OWN = 99

_ADVICE = (
    'Give each spider a ledger of its own (DEDUP_INDEX = "pages-%(name)s.sqlite"), or have all '
    "crawls share this one, or this crawl wait, or take another one (DEDUP_INDEX_IN_USE)"
)
_ADVICE_FOR_JOBS = "The job is under way: wait for its end, or use another JOBDIR"

_opened: "WeakKeyDictionary[Crawler, Store]" = WeakKeyDictionary()


class Opening:
    """Opens the store of a crawl: at once, or when it is free or its server answers."""

    def __init__(
        self, settings: DedupSettings, crawler: "Crawler", count: Callable[[str], object]
    ) -> None:
        """Open nothing yet; *count* is called with the names of counters."""
        self._settings = settings
        self._crawler = crawler
        self._count = count
        self._wait: Callable[[], Awaitable[Store]] | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether the crawl has another store for now, because its own has to be waited for."""
        return self._wait is not None

    def detector_now(self) -> Detector:
        """Return the detector of the crawl, which knows nothing if its store is to be awaited.

        Raises LedgerError if the store cannot be used, SettingError if the settings forbid it.
        """
        return finished(detector_with(self._store_now(), self._settings, self._count))

    async def detector_then(self) -> Detector:
        """Wait for the store, once, and return the detector that knows its pages.

        Raises LedgerError if it cannot be used then.
        """
        assert self._wait
        try:
            store = await self._wait()
            detector = await detector_with(store, self._settings, self._count)
        except LedgerError as error:
            logger.error("The crawl does not start: %s", error)
            # Scrapy logs a traceback; without those of the client of a server.
            raise error.with_traceback(None) from None
        self._wait = None
        return detector

    def _store_now(self) -> Store:
        settings, crawler = self._settings, self._crawler
        if settings.is_shared:
            store = shared_store(settings, crawler)
            self._wait = partial(connected, store, is_reset=is_reset(crawler))
            return MemoryStore()
        try:
            return open_store(settings, crawler)
        except LedgerInUseError as error:
            if settings.index_in_use != "wait":
                raise
            # Without the advice to have it wait.
            why = str(error.__cause__).partition(";")[0].partition(": one crawl at a time")[0]
            logger.warning("This crawl waits: %s", why)
            self._wait = partial(store_when_free, settings, crawler)
            return MemoryStore()


def open_store(settings: DedupSettings, crawler: "Crawler") -> Store:
    """Return the store of a crawl: its ledger, or one in memory if it has none.

    Raises LedgerInUseError if another crawl has it, and with DEDUP_INDEX_IN_USE = "own" others have
    all of its neighbours; LedgerError if it cannot be used.
    """
    if not settings.enabled or settings.index is None:
        return MemoryStore()
    assert isinstance(settings.index, Path)
    reset = is_reset(crawler)
    job = settings.job
    is_of_job = job is not None and settings.index == Path(job, LEDGER_OF_A_JOB).absolute()
    _close_those_of_failed_crawls()
    for path in _candidates(settings.index, settings.index_in_use):
        try:
            store = SqliteStore(
                path,
                settings.identity,
                job=_token(job) if job else None,
                reset=reset,
                max_age=settings.revisits.days,
                fsync=settings.fsync,
            )
            break
        except LedgerInUseError as error:
            in_use = error
    else:
        raise LedgerInUseError(
            f"{str(in_use).partition(';')[0]}. {_ADVICE_FOR_JOBS if is_of_job else _ADVICE}"
        ) from in_use
    _opened[crawler] = store
    if path != settings.index:
        logger.warning(
            "%s is in use by another crawl; this one has %s (DEDUP_INDEX_IN_USE), and does not "
            "know what is stored meanwhile", settings.index, path,
        )  # fmt: skip
    if store.is_resumed and reset:
        logger.info("The job in %s goes on, so its ledger is not reset", job)
    return store


def is_reset(crawler: "Crawler") -> bool:
    """Return whether a crawl forgets what is stored, by an argument of its spider."""
    argument = getattr(crawler.spider, RESET_ARGUMENT, None)
    if argument is None:
        return False
    return as_switch(f"the spider argument {RESET_ARGUMENT}", argument)


def shared_store(settings: DedupSettings, crawler: "Crawler") -> SharedStore:
    """Return the store that a crawl shares with others; it is not connected yet.

    Raises LedgerError if its client is not installed; SettingError without an event loop of
    asyncio.
    """
    assert settings.index
    if not is_asyncio_available():
        raise SettingError(
            f"DEDUP_INDEX {settings.shown['DEDUP_INDEX']} is shared, which needs asyncio: remove "
            'TWISTED_REACTOR, or set it to "twisted.internet.asyncioreactor.AsyncioSelectorReactor"'
        )
    return SharedStore(
        open_log(settings.index, fsync=settings.fsync),
        settings.identity,
        job=_token(settings.job) if settings.job else None,
        reset=is_reset(crawler),
        max_age=settings.revisits.days,
    )


def _candidates(path: Path, in_use: str) -> Iterator[Path]:
    yield path
    if in_use == "own":
        for number in range(2, _MOST_OWN + 1):
            yield path.with_name(f"{path.stem}.{number}{path.suffix}")


def _close_those_of_failed_crawls() -> None:
    """Close the ledgers of crawls of this process that failed before they could be told of it.

    If a component of another crawl cannot be made, nobody calls the others: its ledger would stay
    locked as long as somebody has the crawler.
    """
    for crawler, store in list(_opened.items()):
        try:
            has_engine = crawler.engine is not None
        except RuntimeError:
            has_engine = False
        if not crawler.crawling and not has_engine:
            store.close()


async def store_when_free(settings: DedupSettings, crawler: "Crawler") -> Store:
    """Wait until no other crawl has the ledger of *crawler*, and return it; others run meanwhile.

    Raises LedgerInUseError if *crawler* is stopped before, LedgerError if it cannot be used.
    """
    began = told = monotonic()
    while True:
        try:
            return open_store(settings, crawler)
        except LedgerInUseError:
            await wait_for_call(_SECONDS_BETWEEN_TRIES, lambda _: None)
            if not crawler.crawling:
                raise
        if monotonic() - told > _SECONDS_OF_A_LINE_WHILE_IN_USE:
            told = monotonic()
            logger.info("Waiting for %s since %.0f s", settings.index, told - began)


def _token(job: str) -> str:
    """Return what tells a job from others, written into its folder: also from one of its path."""
    path = Path(job, "dedup.job")
    try:
        with path.open("x", encoding="ascii") as file:
            file.write(uuid4().hex)
    except FileExistsError:
        pass
    return path.read_text("ascii")


async def connected(store: SharedStore, *, is_reset: bool) -> Store:
    """Connect *store*, and return it; *is_reset*: what is there is to be forgotten.

    Raises LedgerError if one may not take part.
    """
    try:
        await store.open()
    except BaseException:
        await store.disconnect()
        raise
    if store.is_in_use and is_reset:
        logger.warning("%s is not reset: other crawls use it", store.name)
    return store


async def detector_with(
    store: Store, settings: DedupSettings, count: Callable[[str], object]
) -> Detector:
    """Return a detector that knows the pages of *store*; waits only if that does.

    *count* is called with the names of counters. Raises LedgerError if the pages cannot be read;
    the store is then closed.
    """
    detector = Detector(
        settings.method,
        settings.rule,
        store=store,
        several_a_key=settings.item_field is not None,
        count=count,
    )
    last_line = monotonic()

    def show_progress(number: int) -> None:
        nonlocal last_line
        if monotonic() - last_line > _SECONDS_OF_A_LINE:
            last_line = monotonic()
            logger.info("Reading %s: %d of %d pages", store.name, number, store.last)

    try:
        await detector.load(show_progress)
    except BaseException as error:
        store.close()
        await store.disconnect()
        if isinstance(error, LedgerError) or not isinstance(error, Exception):
            raise
        # Whatever a method makes of bytes that are no sketch of its own.
        raise store.damage_error(error) from error
    if len(detector):
        logger.info("%s knows %s of earlier crawls", store.name, count_of(len(detector), "page"))
    return detector
