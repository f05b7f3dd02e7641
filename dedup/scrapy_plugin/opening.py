"""What a crawl knows from earlier ones: its ledger is opened, and the detector made of it."""

from pathlib import Path
from time import monotonic
from uuid import uuid4

from scrapy import Spider

from dedup.detector import Detector
from dedup.ledger import LedgerError, SqliteLedger
from dedup.scrapy_plugin.logs import logger_named
from dedup.scrapy_plugin.settings import DedupSettings, as_switch

logger = logger_named(__name__)

RESET_ARGUMENT = "dedup_reset"
_SECONDS_OF_A_LINE = 2.0


def open_ledger(settings: DedupSettings, spider: Spider | None) -> SqliteLedger | None:
    """Return the ledger of a crawl, ``None`` if it has none.

    Raises LedgerError if it cannot be used.
    """
    if not settings.enabled or settings.index is None or settings.is_shell:
        return None
    reset = settings.reset
    argument = getattr(spider, RESET_ARGUMENT, None)
    if argument is not None:
        reset = as_switch(f"the spider argument {RESET_ARGUMENT}", argument)
    ledger = SqliteLedger(
        settings.index,
        settings.identity,
        job=_token(settings.job) if settings.job else None,
        reset=reset,
        max_age=settings.max_age,
        fsync=settings.fsync,
    )
    if ledger.resumed and reset:
        logger.info("The job in %s goes on, so its ledger is not reset", settings.job)
    return ledger


def _token(job: str) -> str:
    """Return what tells a job from others, written into its folder: also from one of its path."""
    path = Path(job, "dedup.job")
    try:
        with path.open("x", encoding="ascii") as file:
            file.write(uuid4().hex)
    except FileExistsError:
        pass
    return path.read_text("ascii")


def detector_with(ledger: SqliteLedger | None, settings: DedupSettings) -> Detector:
    """Return a detector that knows the pages of *ledger*.

    Raises LedgerError if they cannot be read; the ledger is then closed.
    """
    detector = Detector(
        settings.method,
        min_tokens=settings.min_tokens,
        short_pages=settings.short_pages,
        ledger=ledger,
        several_a_key=settings.item_field is not None,
    )
    if ledger is None:
        return detector
    told = monotonic()

    def tell(number: int) -> None:
        nonlocal told
        if monotonic() - told > _SECONDS_OF_A_LINE:
            told = monotonic()
            logger.info("Reading %s: %d of %d pages", ledger.path, number, ledger.last)

    try:
        detector.load(tell)
    except BaseException as error:
        ledger.close()
        if isinstance(error, LedgerError) or not isinstance(error, Exception):
            raise
        # Whatever a method makes of bytes that are no sketch of its own.
        raise ledger.damaged(error) from error
    if len(detector):
        logger.info("%s knows %d pages of earlier crawls", ledger.path, len(detector))
    return detector
