"""What is crawled, and how: drawn at random, equal for equal seeds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from oracle.site import TROUBLES, Contents, contents_of

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
LINES = ("jsonl", "csv", "batches", "csv batches")

SETTINGS: dict[str, Any] = {
    "FEED_EXPORT_FIELDS": ["url", "unit", "text", "body", "trouble"],
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "EXTENSIONS": {"scrapy.extensions.remote_control.RemoteControl": None},
    "LOG_LEVEL": "WARNING",
}


@dataclass
class Scenario:
    contents: Contents
    feeds: list[str]
    settings: dict[str, Any]
    has_job: bool = False
    feed_options: dict[str, Any] = field(default_factory=dict)
    chain: str = "cb_kwargs"
    expects_fields: bool = False
    has_duplicates: bool = False
    disturbances: tuple[str, ...] = ()
    """Those that are drawn more often."""


@dataclass
class Drawn:
    """What a scenario draws from."""

    rng: Random
    count: int
    feeds: list[str] = field(default_factory=lambda: ["jsonl"])
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    """More of the feeds."""

    def scenario(self, shape: str, troubles: tuple[str, ...] = (), **options: Any) -> Scenario:
        rng = self.rng
        contents = contents_of(shape, rng, self.count, troubles)
        workers = rng.choice((0, 0, 1, 2))
        settings = {
            **SETTINGS,
            "DEDUP_WORKERS": workers,
            "CHECKPOINT_INTERVAL": rng.choice((600, 0.02, 0.1, 0.1, 0.3)),  # a fixed value of dedup
            "CONCURRENT_REQUESTS_PER_DOMAIN": rng.choice((2, 8, 16)),
            "ITEM_PIPELINES": {"oracle.crawls.Pipeline": rng.choice((300, 900))},
            **rng.choice(QUEUES),
            **self.settings,
        }
        has_job = rng.random() < 0.5
        return Scenario(contents, self.feeds, settings, has_job, self.options, **options)


def _plain(drawn: Drawn) -> Scenario:
    return drawn.scenario("plain")


def _formats(drawn: Drawn) -> Scenario:
    drawn.feeds = drawn.rng.sample(LINES, 3) + drawn.rng.sample(["pickle", "marshal"], 1)
    return drawn.scenario("plain")


def _csv(drawn: Drawn) -> Scenario:
    drawn.feeds = [drawn.rng.choice(("csv", "csv batches"))]
    return drawn.scenario("plain", disturbances=("tear", "full feed disk"))


def _compressed(drawn: Drawn) -> Scenario:
    drawn.feeds = drawn.rng.sample(["gzip", "bz2", "xz", "gzip batches"], drawn.rng.randint(1, 2))
    drawn.feeds += drawn.rng.choice(([], ["jsonl"]))
    return drawn.scenario("plain")


def _parts(drawn: Drawn) -> Scenario:
    drawn.feeds = [drawn.rng.choice(LINES)]
    return drawn.scenario("parts", drawn.rng.choice(((), TROUBLES)))


def _troubles(drawn: Drawn) -> Scenario:
    drawn.feeds = drawn.rng.sample(LINES, drawn.rng.randint(1, 2))
    return drawn.scenario("plain", TROUBLES)


def _refused(drawn: Drawn) -> Scenario:
    drawn.feeds = [drawn.rng.choice(LINES)]
    drawn.options = {"item_filter": "oracle.crawls.Accepted"}
    return drawn.scenario("refused", drawn.rng.choice(((), TROUBLES)))


def _chains(drawn: Drawn) -> Scenario:
    chain = drawn.rng.choice(("cb_kwargs", "meta", "inline"))
    return drawn.scenario("chains", drawn.rng.choice(((), TROUBLES)), chain=chain)


def _fields(drawn: Drawn) -> Scenario:
    drawn.settings["DEDUP_FIELDS"] = {"text": "body"}
    drawn.settings["DEDUP_DUPLICATES"] = "duplicates"
    return drawn.scenario("plain", expects_fields=True, has_duplicates=True)


def _items(drawn: Drawn) -> Scenario:
    drawn.settings["DEDUP_ITEM_FIELD"] = "text"
    if drawn.rng.random() < 0.5:
        drawn.settings["DEDUP_DUPLICATES"] = "duplicates"
    return drawn.scenario("items", drawn.rng.choice(((), TROUBLES)),
                          has_duplicates="DEDUP_DUPLICATES" in drawn.settings)  # fmt: skip


def _links(drawn: Drawn) -> Scenario:
    drawn.settings["DEDUP_FOLLOW_DUPLICATES"] = False
    return drawn.scenario("hubs", TROUBLES)


def _duplicates(drawn: Drawn) -> Scenario:
    drawn.settings["DEDUP_DUPLICATES"] = "duplicates"
    return drawn.scenario("plain", has_duplicates=True, disturbances=("tear",))


def _reports(drawn: Drawn) -> Scenario:
    drawn.settings["DEDUP_REPORT"] = "reports"
    drawn.count += 70  # so many texts do not fit into the memory that SQLite uses
    return drawn.scenario("bulky", disturbances=("full temporary disk",) * 4)


def _dry(drawn: Drawn) -> Scenario:
    return drawn.scenario("plain", disturbances=("dry run",) * 8)


SCENARIOS: dict[str, Callable[[Drawn], Scenario]] = {
    scenario.__name__.removeprefix("_"): scenario
    for scenario in (_plain, _formats, _csv, _compressed, _parts, _troubles, _refused, _chains,
                     _fields, _items, _links, _duplicates, _reports, _dry)
}  # fmt: skip
