"""Records -> what becomes of each, by the rule of `dedup scan`, on any number of machines."""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from dedup.methods import KeyMethod, Method
from dedup.rule import SHORT, Kind, Rule
from dedup.spark.comparison import Link
from dedup.spark.cut import cut
from dedup.spark.greedy import Standing
from dedup.spark.names import with_common_names
from dedup.spark.rounds import standings
from dedup.spark.runs import (
    LINKS,
    OBJECTIONS_OF_RUNS,
    ROWS_OF_RUNS,
    links_of_runs,
    links_to_kept,
    objections_of_runs,
    rows_of_runs,
)
from dedup.spark.witnesses import OBJECTIONS

# The first three say which texts are equal. Sorting is fastest if the first one differs most.
_CONTENT = ["digest", "scope", "own", "sketch", "tokens", "is_binary", "evidence", "common"]
_NODES_OF_A_PARTITION = 200_000


def judge(
    records: DataFrame,
    method: Method,
    rule: Rule,
    *,
    partitions: int | None = None,
    objections: bool = False,
) -> DataFrame:
    """Return rank, verdict, original and distance of each of *records*.

    *records* have the columns rank (whole, unique: the lower is judged first), key, scope, tokens,
    digest and sketch, and may have evidence and is_binary, all as `PageRecord` has them. They are
    read several times. *partitions*: in how many parts they are compared; by default as many as
    there are cores, or more. All that share one key are in the memory of one task. *objections*:
    whether to find out, too, why new records are kept that match a kept one: the column objection
    has an `Objection`, or is null. That takes another round of comparisons.

    The verdict is a value of `Kind`; the original is the rank of the kept record that a duplicate
    repeats, at this distance. It is what a scan of these records in the order of their ranks says:
    a record is compared with kept ones of its scope only, and is the duplicate of the earliest with
    an equal text, or else of the nearest, the earliest if there are several. The two may differ
    only where a scan has limits that Spark has not, or has others:

    * A method may look at some candidates per key only (`KeyMethod.candidates_per_key`); here it
      looks at all.
    * In batches of texts, a scan takes keys for equal that agree in their lowest 32 bits.
    * A scan forgets the names of pages of more than 10,000 hosts.
    * After 256 objections to a drop, a scan keeps the page. Here, they are counted for each key
      that more than 256 pages share, and not only kept pages object.
    * The objection of a page is that to the nearest kept one. Where more than 256 kept pages with
      other sketches than fingerprints share a key, it is that to the nearest of those compared: at
      least the first 256 that match.

    Raises TypeError for a *method* that has no keys.
    """
    if not isinstance(method, KeyMethod):
        raise TypeError(f"{type(method).__name__} is no KeyMethod: nothing says what to compare")
    placed = cut(_placed(records, rule))
    nodes = placed.where("rank = node and not is_skipped")
    if partitions is None:
        cores = placed.sparkSession.sparkContext.defaultParallelism
        partitions = max(cores, -(-nodes.count() // _NODES_OF_A_PARTITION))
    search = _Search(method, rule, nodes, partitions)
    search.run()
    verdicts = _verdicts(placed, search)
    if not objections:
        return verdicts
    if "evidence" not in records.columns or rule.demands is None:
        return verdicts.withColumn("objection", F.lit(None).cast("string"))
    return verdicts.join(search.objections, "rank", "left")


def _placed(records: DataFrame, rule: Rule) -> DataFrame:
    """Return *records*, each with its node: the first of those that have the same content.

    What becomes of a node decides about all of it. *last* is the last record of a node, *twins* is
    how many nodes have this text.
    """
    if "is_binary" not in records.columns:
        records = records.withColumn("is_binary", F.lit(False))
    if "evidence" in records.columns and rule.demands is not None:
        records = with_common_names(records)
    else:
        records = records.withColumn("evidence", F.lit(None).cast("binary"))
        records = records.withColumn("common", F.lit(0))
    same, equal = Window.partitionBy(_CONTENT), Window.partitionBy(_CONTENT[:3])
    is_short = F.col("sketch").isNull() | (F.col("tokens") < (rule.min_tokens or SHORT))
    is_skipped = F.col("digest").isNull()
    if not rule.min_tokens:
        is_skipped |= F.col("is_short") & ~F.col("is_binary")
    return (
        records.select("rank", *(name for name in _CONTENT if name != "own"))
        .withColumn("is_short", is_short)
        .withColumn("is_skipped", is_skipped)
        # What is skipped is never compared; many may have no text.
        .withColumn("own", F.when(F.col("is_skipped"), F.col("rank")))
        .repartition(*_CONTENT[:3])
        .withColumn("node", F.min("rank").over(same))
        .withColumn("last", F.max("rank").over(same))
        .withColumn("twins", F.sum((F.col("rank") == F.col("node")).cast("int")).over(equal))
        .drop("own")
    )


class _Search:
    """Compares nodes round by round, until it is known of each whether it is kept."""

    def __init__(self, method: KeyMethod, rule: Rule, nodes: DataFrame, partitions: int) -> None:
        self._method = method
        self._rule = rule
        self._nodes = nodes
        self._partitions = partitions
        self._links: list[DataFrame] = []
        self._dropped: list[DataFrame] = []
        self._incomplete: list[DataFrame] = []
        self.rounds = 0
        """How often nodes were compared."""

    def run(self) -> None:
        nodes = self._nodes
        while True:
            self.rounds += 1
            runs = self._runs(nodes.withColumn("is_kept", F.lit(False)))
            links = cut(_best(runs.mapInArrow(links_of_runs(self._method, self._rule), LINKS)))
            decided = standings(links)
            self._links.append(links.where("original is not null"))
            self._dropped.append(decided.where(F.col("standing") == Standing.DROPPED))
            self._incomplete.append(links.where("original is null").select("page"))
            left = decided.where(F.col("standing") == Standing.OPEN).select("node")
            if left.isEmpty():
                break
            nodes = self._nodes.join(left, "node", "left_semi")
        if self.rounds > 1:
            self._links.append(self._links_of_incomplete())

    def _runs(self, nodes: DataFrame, *, with_weak: bool = False) -> DataFrame:
        """Return the rows of the runs of *nodes*, sorted."""
        explode = rows_of_runs(self._method, self._rule, with_weak=with_weak)
        rows = nodes.mapInArrow(explode, ROWS_OF_RUNS)
        # By one number, Spark sorts fastest.
        return rows.repartition(self._partitions, "run").sortWithinPartitions("run")

    def _links_of_incomplete(self) -> DataFrame:
        """Return the links to kept nodes of those that were not compared with all before them."""
        incomplete = reduce(DataFrame.union, self._incomplete).withColumnRenamed("page", "node")
        asked = self._nodes.join(self.dropped, "node", "left_semi")
        asked = asked.join(incomplete.distinct(), "node", "left_semi")
        kept = self._nodes.join(self.dropped, "node", "left_anti")
        runs = self._runs(
            asked.withColumn("is_kept", F.lit(False)).union(kept.withColumn("is_kept", F.lit(True)))
        )
        return cut(_best(runs.mapInArrow(links_to_kept(self._method, self._rule), LINKS)))

    @property
    def dropped(self) -> DataFrame:
        """The nodes that are dropped."""
        return reduce(DataFrame.union, self._dropped).select("node")

    @property
    def objections(self) -> DataFrame:
        """What speaks against dropping a kept node: rank and objection, if it matches another.

        A scan asks those that show the same first, then those of an equal text, then the nearest;
        of what is left, the earliest.
        """
        kept = self._nodes.join(self.dropped, "node", "left_anti")
        runs = self._runs(kept.withColumn("is_kept", F.lit(True)), with_weak=True)
        found = runs.mapInArrow(objections_of_runs(self._method, self._rule), OBJECTIONS_OF_RUNS)
        first = F.min(F.struct("shared", "distance", "original", "objection")).alias("first")
        names = F.array(*(F.lit(None if name is None else str(name)) for name in OBJECTIONS))
        return (
            found.groupBy(F.col("page").alias("rank"))
            .agg(first)
            .select("rank", names[F.col("first.objection")].alias("objection"))
        )

    @property
    def links(self) -> DataFrame:
        """What matches which kept node, as `LINKS`."""
        dropped = self.dropped.withColumnRenamed("node", "original")
        return reduce(DataFrame.union, self._links).join(dropped, "original", "left_anti")


def _best(links: DataFrame) -> DataFrame:
    """Return each pair of *links* once."""
    best = F.min(F.struct("kind", "distance")).alias("best")
    pairs = links.groupBy("page", "original").agg(best)
    return pairs.select("page", "original", "best.*")


def _verdicts(placed: DataFrame, search: _Search) -> DataFrame:
    links = search.links
    match = F.struct("kind", "distance", "original")
    before = links.where("original < page").groupBy(F.col("page").alias("node"))
    # A record may be nearer to one that came after the first of its node.
    copies = placed.where("rank > node and not is_skipped").select("rank", "node")
    later = (
        links.where("original > page")
        .join(copies, F.col("page") == F.col("node"))
        .where("original < rank")
        .groupBy("rank")
    )
    own = F.struct(
        F.lit(int(Link.SAME)).cast("tinyint").alias("kind"),
        F.lit(0.0).alias("distance"),
        F.col("node").alias("original"),
    )
    best = F.least("nearest_before", "nearest_later")
    joined = (
        placed.select("rank", "node", "is_skipped")
        .join(before.agg(F.min(match).alias("nearest_before")), "node", "left")
        .join(later.agg(F.min(match).alias("nearest_later")), "rank", "left")
        .withColumn(
            "match",
            F.when(F.col("nearest_before").isNotNull(), best).when(
                (F.col("rank") > F.col("node")), own
            ),
        )
    )
    return joined.select(
        "rank",
        _verdict().alias("verdict"),
        F.col("match.original").alias("original"),
        F.col("match.distance").alias("distance"),
    )


def _verdict() -> Column:
    return (
        F.when(F.col("is_skipped"), Kind.SKIPPED.value)
        .when(F.col("match").isNull(), Kind.NEW.value)
        .when(F.col("match.kind") == int(Link.NEAR), Kind.NEAR.value)
        .otherwise(Kind.EXACT.value)
    )
