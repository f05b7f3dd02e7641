"""What a scan on Spark has to do, and what it has found."""

from dataclasses import dataclass, field

from dedup.extraction import Extractor
from dedup.lost_text import LostText
from dedup.methods.base import Method
from dedup.preference import Preference
from dedup.records import Fields, Folder, RecordError
from dedup.records.warc import Warc
from dedup.rule import Rule
from dedup.scopes import Scope
from dedup.spark.files.inputs import Inputs
from dedup.spark.files.storage import Storage, local_path


@dataclass(frozen=True)
class Job:
    """What to do: which files to read and how, and where the results go."""

    inputs: Inputs
    fields: Fields
    method: Method
    extractor: Extractor
    output: str
    scope: Scope | None = None
    keep: Preference = field(default_factory=lambda: Preference([]))
    rule: Rule = field(default_factory=Rule)
    skip_bad: bool = False
    clusters: str | None = None
    partitions: int | None = None
    page_timeout: float = 30.0


@dataclass
class Figures:
    """How many records there are, and what became of them.

    *lost_text* and *lossiest* are as in `dedup.scan.Outcome`; *names* has the keys of the lossiest
    and of their originals, by their numbers, if keys were asked for.
    """

    records: int = 0
    kept: int = 0
    exact_duplicates: int = 0
    near_duplicates: int = 0
    clusters: int = 0
    kept_empty: int = 0
    kept_short: int = 0
    kept_unread: int = 0
    kept_without_scope: int = 0
    with_evidence: int = 0
    kept_by_evidence: dict[str, int] = field(default_factory=dict)
    lost_text: LostText | None = None
    lossiest: list[tuple[int, int, int, int]] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    weak: dict[str, int] = field(default_factory=dict)
    bad: int = 0
    first_bad: str | None = None
    first_unread: str | None = None
    bytes_read: int = 0
    bytes_written: int = 0


def check_outputs(storage: Storage, job: Job) -> None:
    """Raise RecordError if an output exists, or cannot be where it is named."""
    outputs = [name for name in (job.output, job.clusters) if name]
    for name in outputs:
        if storage.exists(name):
            raise RecordError(f"{name} exists; name a folder that does not")
    if len(set(map(storage.full, outputs))) < len(outputs):
        raise RecordError(f"{job.output} is named for two outputs")
    for name in outputs:
        if job.inputs.have(storage.full(name)):
            raise RecordError(f"{name} is an input, or in one")
    is_local = local_path(storage.full(job.output)) is not None
    if job.inputs.kind in (Warc, Folder) and not is_local:
        raise RecordError(
            f"{job.output} must be a local or a mounted folder: records of WARC and files of "
            "folders are copied there by the tasks themselves"
        )
