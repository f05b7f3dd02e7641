"""Loggers whose arguments and tracebacks are printable when they reach the log."""

import logging
import traceback

from dedup.text import Lines, printable

_LONGEST_LINE = 2000


def get_logger(name: str) -> logging.Logger:
    """Return the logger of *name*, made safe against hostile arguments and tracebacks.

    A URL or an error may contain what a hostile page put there: line ends that start a forged log
    entry, or escape codes for the terminal.
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
        # Formatters use this text as the traceback. Indented, no line looks like a log entry.
        lines = "".join(traceback.format_exception(*record.exc_info)).splitlines()
        record.exc_text = "\n".join(f"  {printable(line, _LONGEST_LINE)}" for line in lines)
    return True
