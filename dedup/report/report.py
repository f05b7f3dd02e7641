"""What a crawl's dedup did, in numbers; docs/stats.md describes the JSON form, key by key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dedup.lost_text import LostText
from dedup.report import json_form
from dedup.url_advice.advice import UrlAdvice


@dataclass(frozen=True, slots=True)
class PageCounts:
    """Verdicts; *skipped* by reason. *per_second* is ``None`` where nobody knows the time."""

    judged: int
    new: int
    exact_duplicates: int
    near_duplicates: int
    unchanged: int
    changed: int
    repeated: int
    skipped: dict[str, int]
    per_second: float | None


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """What became of items; the *unmarked* could not hold a verdict, the *unknown* had no page."""

    dropped: int
    marked: int
    unmarked: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Revisit:
    """A page that an earlier crawl stored, and its *distance* from that, ``None`` if unknown."""

    url: str
    distance: float | None


@dataclass(frozen=True, slots=True)
class Revisits:
    """The first pages of each kind; `PageCounts` has the numbers of all."""

    unchanged: tuple[Revisit, ...]
    changed: tuple[Revisit, ...]


@dataclass(frozen=True, slots=True)
class PreferredUrl:
    """The page at *original* is stored, and its content was met at *url*, which is preferred."""

    original: str
    url: str


@dataclass(frozen=True, slots=True)
class PreferredUrls:
    """How many *duplicates* have better URLs than the stored pages, and the *first* of these.

    Of each stored page the best.
    """

    duplicates: int
    first: tuple[PreferredUrl, ...]


@dataclass(frozen=True, slots=True)
class LedgerUse:
    """What a crawl did with its ledger, in which it is number *crawl*."""

    path: str
    crawl: int | None
    resumed: bool
    checkpoints: int
    failed_checkpoints: int
    pages_not_written: int


@dataclass(frozen=True, slots=True)
class NearestKept:
    """How far the nearest other page is from kept ones, where it is beyond the threshold.

    Of *pages* kept ones, a *sample* was looked at; *distances*, up to *within*, counts those of it
    that have such a page.
    """

    sample: int
    pages: int
    within: float
    distances: dict[float, int]


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Two kept pages just beyond the threshold; *objection*: what else speaks against a drop."""

    url: str
    other: str
    distance: float
    objection: str | None = None


@dataclass(frozen=True, slots=True)
class VerdictTimeline:
    """What came when: pages of each of *kinds* in each bucket; only the last one is not full."""

    kinds: tuple[str, ...]
    pages_per_bucket: int
    buckets: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class LengthBucket:
    """Pages of *from_* to *to* tokens; *duplicates* is ``None`` where their lengths are unknown."""

    from_: int
    to: int
    kept: int
    duplicates: int | None


@dataclass(frozen=True, slots=True)
class Copy:
    """A duplicate in a group; *verdict* is a value of `Kind`.

    *readable*: the URL with the letters that it escapes, ``None`` where there are none.
    """

    url: str
    verdict: str
    distance: float | None
    title: str | None = None
    readable: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A kept page, how many duplicates of it there were, and the *first* of them."""

    original: str
    duplicates: int
    first: tuple[Copy, ...]
    readable: str | None = None


@dataclass(frozen=True, slots=True)
class NameCount:
    """The pages of a host or URL pattern, and how many of them are duplicates."""

    name: str
    pages: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class NameCounts:
    """How many *names* there were, and the *largest* of them, those with most pages first."""

    names: int
    largest: tuple[NameCount, ...]


@dataclass(frozen=True, slots=True)
class Savings:
    """What duplicates did not cost: *bytes* not stored, *seconds* of work not done twice."""

    bytes: int
    pages_not_read_again: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StageTime:
    """Seconds that a stage took for a page: the *median*, what 95 % do not exceed, the *sum*."""

    pages: int
    median: float | None
    p95: float | None
    sum: float


@dataclass(frozen=True, slots=True)
class IndexSize:
    """What is remembered at the end."""

    pages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class LossyPage:
    """A dropped page, and about how many of its 3-word sequences are *lost*, nowhere stored."""

    url: str
    original: str
    lost: int
    sequences: int


@dataclass(frozen=True, slots=True)
class DroppedText:
    """The extracted text of the dropped *pages*, in *sequences* of three words.

    *share*: the estimated part of them, from 0 to 1, that is nowhere stored; the exact one is
    within *error* of it in some 95 of 100 crawls. Left out are *pages_of_earlier_crawls*: those
    whose originals an earlier crawl stored, and this one did not meet again. *is_stored*: the pages
    were marked and not dropped, and it is what would be lost. *lossiest*: those that lost most.
    """

    pages: int
    pages_of_earlier_crawls: int
    sequences: int
    share: float
    error: float
    is_stored: bool
    lossiest: tuple[LossyPage, ...]

    @property
    def estimate(self) -> LostText:
        return LostText(self.sequences, self.share, self.error)


@dataclass(frozen=True, slots=True)
class TitleCounts:
    """Duplicates *compared* with their originals: *different* ones have another title and headline.

    Only the names of the first 100,000 kept pages are known.
    """

    compared: int
    different: int


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field in which the items of *pages* differ from stored ones, with the values of two.

    *other* is ``None`` if the stored item has none, or nobody knows it any more.
    """

    name: str
    pages: int
    one: str
    other: str | None


@dataclass(frozen=True, slots=True)
class ItemDifferences:
    """Pages that repeat others and are kept, since no stored item says all that theirs say.

    *pages* in all; *in_fields*: of those that differ in no other field than *fields*, which are
    those of the most pages. The page at *url* differs so from that at *original*.
    """

    pages: int
    in_fields: int
    fields: tuple[FieldDifference, ...]
    url: str
    original: str


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """Of the near misses whose texts were *compared* by another method, how many are *near*."""

    method: str
    compared: int
    near: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All of it. A new field needs a default, for the reports that ledgers have.

    *started* is in ISO 8601 with a time zone.

    `Details` gathers *nearest_kept*, *near_misses*, *second_opinion*, *timeline*, *lengths*,
    *url_patterns*, *near_patterns*, *titles* and *url_advice*; without it they are empty or
    ``None``. *near_patterns* are URL patterns with their near-duplicates only. *ledger* is ``None``
    in a crawl without one. *objections* counts the new pages whose main text matches another page,
    by why that was not enough to drop them, *weak* those of which too little was extracted, by what
    it is (`Weakness`). *saved* and *dropped_text* are ``None`` where only the ledger is left.
    """

    spider: str
    started: str
    seconds: float
    settings: dict[str, Any]
    pages: PageCounts
    items: ItemCounts
    dropped_text: DroppedText | None = None
    objections: dict[str, int] = field(default_factory=dict)
    weak: dict[str, int] = field(default_factory=dict)
    item_differences: ItemDifferences | None = None
    links_held_back: int
    preferred: PreferredUrls = PreferredUrls(0, ())
    revisits: Revisits
    ledger: LedgerUse | None
    distances: dict[float, int]
    nearest_kept: NearestKept
    near_misses: tuple[NearMiss, ...]
    second_opinion: SecondOpinion | None = None
    timeline: VerdictTimeline
    lengths: tuple[LengthBucket, ...]
    groups: int
    largest_groups: tuple[Group, ...]
    duplicates_by_host: dict[str, int]
    hosts: NameCounts
    url_patterns: NameCounts
    near_patterns: NameCounts = field(default_factory=lambda: NameCounts(0, ()))
    titles: TitleCounts | None = None
    url_advice: UrlAdvice | None
    saved: Savings | None
    seconds_per_page: dict[str, StageTime]
    index: IndexSize
    claims: dict[str, int]
    store: dict[str, int]
    unread: dict[str, int]
    errors: int
    texts_lost: int

    def as_json(self) -> dict[str, Any]:
        """Return the JSON report; keys of *distances* are numbers, until JSON is made of it."""
        form: dict[str, Any] = json_form.as_json(self)
        return form

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> "Report":
        """Return the report of a JSON report; raises ValueError if it is none."""
        return json_form.from_json(cls, form)
