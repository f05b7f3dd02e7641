"""The loggers of a crawl: what they are given is printable when it reaches the log."""

import logging
import traceback

from dedup.text import Lines, printable

_LONGEST_LINE = 2000


def logger_named(name: str) -> logging.Logger:
    """Return the logger of *name*, whose arguments and tracebacks cannot break or steer a line.

    An address or an error may hold what a hostile page put there: line ends that begin a forged
    entry, codes that a terminal obeys.
    """
    logger = logging.getLogger(name)
    logger.addFilter(_make_printable)
    return logger


def _make_printable(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(
            arg if isinstance(arg, int | float | Lines) else printable(str(arg), _LONGEST_LINE)
            for arg in record.args
        )
    if isinstance(record.exc_info, tuple):
        # Formatters take this text for the traceback. No line of it begins as an entry does.
        lines = "".join(traceback.format_exception(*record.exc_info)).splitlines()
        record.exc_text = "\n".join(f"  {printable(line, _LONGEST_LINE)}" for line in lines)
    return True
