"""What a crawl knows from earlier ones: its ledger is opened, and the detector made of it."""

import logging
from time import monotonic

from scrapy import Spider

from dedup.detector import Detector
from dedup.ledger import LedgerError, SqliteLedger
from dedup.scrapy_plugin.settings import DedupSettings, as_switch

logger = logging.getLogger(__name__)

RESET_ARGUMENT = "dedup_reset"
_SECONDS_OF_A_LINE = 2.0


def open_ledger(settings: DedupSettings, spider: Spider | None) -> SqliteLedger | None:
    """Return the ledger of a crawl, ``None`` if it has none.

    Raises LedgerError if it cannot be used.
    """
    if not settings.enabled or settings.index is None:
        return None
    reset = settings.reset
    argument = getattr(spider, RESET_ARGUMENT, None)
    if argument is not None:
        reset = as_switch(f"the spider argument {RESET_ARGUMENT}", argument)
    ledger = SqliteLedger(
        settings.index,
        settings.identity,
        job=settings.job,
        reset=reset,
        max_age=settings.max_age,
        fsync=settings.fsync,
    )
    if ledger.resumed and reset:
        logger.info("The job in %s goes on, so its ledger is not reset", settings.job)
    return ledger


def detector_with(ledger: SqliteLedger | None, settings: DedupSettings) -> Detector:
    """Return a detector that knows the pages of *ledger*.

    Raises LedgerError if they cannot be read; the ledger is then closed.
    """
    detector = Detector(
        settings.method,
        min_tokens=settings.min_tokens,
        short_pages=settings.short_pages,
        ledger=ledger,
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
    except LedgerError:
        ledger.close()
        raise
    except ValueError as error:
        ledger.close()
        raise ledger.damaged(error) from error
    if len(detector):
        logger.info("%s knows %d pages of earlier crawls", ledger.path, len(detector))
    return detector
