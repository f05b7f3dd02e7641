"""What a crawl knows from earlier ones: its store is opened, and the detector reads it."""

from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from scrapy.utils.asyncio import is_asyncio_available

from dedup.detector import Detector
from dedup.logs import get_logger
from dedup.scrapy_plugin.setting_values import SettingError, parse_switch
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.stores import LedgerError, LedgerInUseError, MemoryStore, SqliteStore, Store
from dedup.stores.server_url import open_log
from dedup.stores.shared import SharedStore
from dedup.stores.sqlite_log import SqliteLog
from dedup.units import Count

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

RESET_ARGUMENT = "dedup_reset"

_ADVICE = (
    'wait for its end, give each spider a ledger of its own (DEDUP_INDEX = "pages-%(name)s.sqlite")'
    ', or have all crawls share this one (DEDUP_INDEX = "sqlite:///pages.sqlite?share=1")'
)


def open_store(settings: DedupSettings, crawler: "Crawler") -> Store:
    """Return the store of a crawl; one that crawls share is not connected yet.

    Raises LedgerInUseError if another crawl has it, LedgerError if it cannot be used or its client
    is not installed, SettingError if the settings forbid it.
    """
    place = settings.index.place
    if not settings.enabled or place is None:
        return MemoryStore()
    job = _token(settings.job) if settings.job else None
    reset = is_reset(crawler)
    max_age = 0 if settings.revisits.need_leaves else settings.revisits.days
    if settings.index.is_shared:
        if not is_asyncio_available():
            raise SettingError(
                f"DEDUP_INDEX {settings.shown['DEDUP_INDEX']} is shared, which needs asyncio: "
                "remove TWISTED_REACTOR, or set it to "
                '"twisted.internet.asyncioreactor.AsyncioSelectorReactor"'
            )
        log = SqliteLog(place) if isinstance(place, Path) else open_log(place)
        return SharedStore(log, settings.identity, job=job, reset=reset, max_age=max_age)
    assert isinstance(place, Path)
    try:
        store = SqliteStore(place, settings.identity, job=job, reset=reset, max_age=max_age)
    except LedgerInUseError as error:
        raise LedgerInUseError(f"{str(error).partition(';')[0]}: {_ADVICE}") from error
    if store.is_resumed and reset:
        logger.info("The job in %s goes on, so its ledger is not reset", settings.job)
    return store


def is_reset(crawler: "Crawler") -> bool:
    """Return whether a crawl forgets what is stored, by an argument of its spider."""
    argument = getattr(crawler.spider, RESET_ARGUMENT, None)
    if argument is None:
        return False
    try:
        return parse_switch(argument)
    except ValueError as error:
        raise SettingError(f"the spider argument {RESET_ARGUMENT} {error}") from None


def _token(job: str) -> str:
    """Return what tells a job from others, written into its folder: also from one of its path."""
    path = Path(job, "dedup.job")
    try:
        with path.open("x", encoding="ascii") as file:
            file.write(uuid4().hex)
    except FileExistsError:
        pass
    return path.read_text("ascii")


async def read_store(detector: Detector, crawler: "Crawler") -> None:
    """Have *detector* know the pages of its store; connect that if it is shared, and wait.

    Raises LedgerError if they cannot be read; the store is then closed.
    """
    store = detector.store
    try:
        if isinstance(store, SharedStore):
            await store.open()
            if store.is_in_use and is_reset(crawler):
                logger.warning("%s is not reset: other crawls use it", store.name)
        await detector.follower.load()
    except BaseException as error:
        store.close()
        await store.disconnect()
        if not isinstance(error, Exception):
            raise
        # Else it is whatever a method makes of bytes that are no sketch of its own.
        problem = error if isinstance(error, LedgerError) else store.damage_error(error)
        if store.is_shared:
            logger.error("The crawl does not start: %s", problem)
        # Scrapy logs a traceback; without those of the client of a server.
        raise problem.with_traceback(None) from None
    if len(detector):
        logger.info("%s knows %s of earlier crawls", store.name, f"{Count(len(detector)):page}")
