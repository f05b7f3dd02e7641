"""What is crawled, and how: drawn at random, equal for equal seeds."""

from dataclasses import dataclass
from random import Random
from typing import Any

from oracle.site import TROUBLES, Contents, contents_of

FEWEST_CONTENTS, MOST_CONTENTS, MOST_FEEDS = 20, 36, 3
QUEUES: tuple[dict[str, str], ...] = (
    {},
    {
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoSQLiteQueue",
        "SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleFifoSQLiteQueue",
    },
)
_PLUGIN = "scrapy.extensions.postprocessing.{}Plugin"
FEEDS: dict[str, tuple[str, dict[str, Any]]] = {
    "jsonl": ("pages.jsonl", {"format": "jsonlines"}),
    "csv": ("pages.csv", {"format": "csv"}),
    "pickle": ("pages.pickle", {"format": "pickle"}),
    "marshal": ("pages.marshal", {"format": "marshal"}),
    "batches": ("batch-%(batch_id)03d.jsonl", {"format": "jsonlines", "batch_item_count": 7}),
    "csv batches": ("batch-%(batch_id)03d.csv", {"format": "csv", "batch_item_count": 7}),
    "gzip": ("pages.jsonl.gz", {"format": "jsonlines",
                                "postprocessing": [_PLUGIN.format("Gzip")]}),
    "bz2": ("pages.csv.bz2", {"format": "csv", "postprocessing": [_PLUGIN.format("Bz2")]}),
    "xz": ("pages.jsonl.xz", {"format": "jsonlines", "postprocessing": [_PLUGIN.format("LZMA")]}),
    "gzip batches": ("batch-%(batch_id)03d.jsonl.gz", {
        "format": "jsonlines", "batch_item_count": 7, "postprocessing": [_PLUGIN.format("Gzip")]}),
}  # fmt: skip
"""The file of each kind of feed, and its options."""
FLUSHED = [name for name, (_, options) in FEEDS.items() if "postprocessing" not in options]
"""Those that are flushed while they are written, and the ledger with them, not at the end only."""

_SETTINGS: dict[str, Any] = {
    "FEED_EXPORT_FIELDS": ["url", "unit", "text", "body", "trouble"],
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "EXTENSIONS": {"scrapy.extensions.remote_control.RemoteControl": None},
    "LOG_LEVEL": "WARNING",
}
SCENARIOS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("plain", {"DEDUP_REPORT": "reports"}),
    "parts": ("items", {}),
    "chains": ("chains", {}),
    "fields": ("plain", {"DEDUP_FIELDS": {"text": "body"}, "DEDUP_DUPLICATES": "duplicates"}),
    "items": ("items", {"DEDUP_ITEM_FIELD": "text", "DEDUP_DUPLICATES": "duplicates"}),
    "links": ("hubs", {"DEDUP_FOLLOW_DUPLICATES": False}),
}
"""The shape of the site, and the settings that are always so."""


@dataclass
class Scenario:
    contents: Contents
    feeds: list[str]
    settings: dict[str, Any]
    has_job: bool


def drawn(name: str, rng: Random) -> Scenario:
    """Return a scenario of that name: a site, some feeds, and settings."""
    shape, fixed = SCENARIOS[name]
    count = rng.randint(FEWEST_CONTENTS, MOST_CONTENTS)
    feeds = FLUSHED if rng.random() < 0.8 else list(FEEDS)
    settings = {
        **_SETTINGS,
        "DEDUP_WORKERS": rng.choice((0, 0, 1, 2)),
        "CONCURRENT_REQUESTS_PER_DOMAIN": rng.choice((2, 8, 16)),
        "ITEM_PIPELINES": {"oracle.crawls.Pipeline": rng.choice((300, 900))},
        # Of oracle.crawls alone:
        "CHECKPOINT_INTERVAL": rng.choice((600, 0.02, 0.1, 0.1, 0.3)),
        "CHAIN": rng.choice(("cb_kwargs", "inline")),
        **rng.choice(QUEUES),
        **fixed,
    }
    return Scenario(
        contents=contents_of(shape, rng, count, rng.choice(((), TROUBLES))),
        feeds=rng.sample(feeds, rng.randint(1, MOST_FEEDS)),
        settings=settings,
        has_job=rng.random() < 0.5,
    )
