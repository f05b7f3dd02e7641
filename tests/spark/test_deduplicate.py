"""Rows of DataFrames -> which are kept, as a scan of the same rows says."""

import random

import judged
import pytest
from bad_extractors import __file__ as BAD_EXTRACTORS  # noqa: N812
from bad_extractors import extracting_unless_told
from cases import IS_THOROUGH
from collections_on_disk import write_lines
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from texts import article, edited, page

from dedup.evidence import NORMAL
from dedup.extraction import trafilatura
from dedup.methods import METHODS
from dedup.plugins import load_preference
from dedup.preference import CRITERIA
from dedup.records import Fields, format_of
from dedup.rule import Rule
from dedup.scan import Fate, RecordReader, scan
from dedup.scopes import Scope
from dedup.spark import SparkError, deduplicate, sketches

pytestmark = pytest.mark.slow


def scanned(
    tmp_path, rows, fields, method, keep="first", extractor=trafilatura, rule=None, **options
):
    """Return what a scan says of *rows*: verdict, place of the original and distance of each."""
    path = write_lines(tmp_path / "rows.jsonl", rows)
    reader = RecordReader(format_of([path])([path], fields), method, extractor, **options)
    keep = load_preference(CRITERIA, keep)
    outcome = scan(reader, workers=1, keep=keep, rule=rule or Rule(), skip_bad=True)
    pairs = zip(outcome.originals, outcome.distances, strict=True)
    matches = dict(zip(outcome.duplicates, pairs, strict=True))
    return [
        (place, Fate(fate).verdict, *matches.get(place, (None, None)))
        for place, fate in enumerate(outcome.fates)
    ]


def found(df):
    """Return the same of a DataFrame whose keys end with the place."""
    return [
        (row.place, row.verdict, row.original and int(row.original.split("/")[-1]), row.distance)
        for row in sorted(df.collect(), key=lambda row: row.place)
        if row.kept == (row.verdict not in ("exact-duplicate", "near-duplicate"))
    ]


def placed(texts):
    return [{"place": place, "text": text} for place, text in enumerate(texts)]


def frame(spark, rows, chooser=random):
    mixed = chooser.sample(rows, len(rows))
    columns = list(rows[0])
    types = {"place": "long", "date": "double"}
    schema = ", ".join(f"{name} {types.get(name, 'string')}" for name in columns)
    return spark.createDataFrame([[row[name] for name in columns] for row in mixed], schema)


def collection_of(seed, is_html):
    """Return rows of texts, or of pages with titles and menus, of a few dozen kinds of content."""
    chooser = random.Random(seed)
    texts = judged.texts(chooser, 12 if is_html else 40)
    if seed % 5 == 0:
        texts += [article(seed, 5_000), edited(article(seed, 5_000))]
    rows = []
    for text in chooser.choices(texts, k=len(texts)):
        title, links = chooser.choice("AAB"), ["menu"] * chooser.choice([1, 1, 40])
        rows.append(
            {
                "site": chooser.choice([f"{seed}"] * 9 + [None]),
                "url": f"http://{seed}.example/{'x' * chooser.randrange(4)}",
                "date": chooser.choice([None, 5.0, 7.0]),
                "content": page(text, *links, title=title) if is_html and text else text or None,
            }
        )
    return rows


# What matches shares a key for sure, so that it does not matter that scans compare those of small
# scopes that share none. As for `judge`, each job of Spark has many collections.
@settings(
    max_examples=3 if IS_THOROUGH else 1,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@example(
    name="simhash", keep="first", seeds={*range(12)}, is_html=True, evidence=True, min_tokens=20
)  # fmt: skip
@given(
    name=st.sampled_from(["segments", "simhash", "shingling", "random-projection"]),
    keep=st.sampled_from(["first", "longest", "newest,longest", "shorter-url,newest"]),
    seeds=st.sets(st.integers(0, 10**6), min_size=12, max_size=12),
    is_html=st.booleans(),
    evidence=st.booleans(),
    min_tokens=st.sampled_from([20, 0, 40]),
)
def test_random_collections_have_the_verdicts_of_a_scan(
    spark, tmp_path_factory, name, keep, seeds, is_html, evidence, min_tokens
):
    rows = [row for seed in sorted(seeds) for row in collection_of(seed, is_html)]
    for place, row in enumerate(rows):
        row["place"], row["url"] = place, f"{row['url']}/{place}"
    if is_html:  # some end or hang their process
        for place, content in enumerate(["be-killed", "be-killed again", "hang-deaf", "exit"], 3):
            rows[place]["content"] = content
    date = "date" if "newest" in keep else None
    options = {"extractor": extracting_unless_told, "page_timeout": 2}
    expected = scanned(
        tmp_path_factory.mktemp("scan"), rows, Fields("content", is_html, date=date, with_all=True),
        METHODS[name](), keep, scope=Scope.of("field:site"),
        rule=Rule(min_tokens, demands=NORMAL if evidence else None), **options,
    )  # fmt: skip
    spark.sparkContext.addPyFile(BAD_EXTRACTORS)
    df = frame(spark, rows, random.Random(min(seeds)))
    if is_html:
        df = df.withColumn("content", df.content.cast("binary"))
    got = deduplicate(
        df, order_by="place", method=name, keep=keep, scope="field:site", evidence=evidence,
        min_tokens=min_tokens, date=date, **{"html" if is_html else "text": "content"}, **options,
    )  # fmt: skip
    assert got.columns == [*rows[0], "kept", "original", "distance", "verdict"]
    assert found(got) == expected


def test_nothing_depends_on_how_rows_are_spread_and_of_equal_rows_one_is_kept(spark):
    texts = judged.texts(random.Random(4), 60)
    rows = [(f"http://a/{place % 7}", text) for place, text in enumerate(texts)] * 2
    one = spark.createDataFrame(random.Random(1).sample(rows, len(rows)), "url string, text string")
    many = spark.createDataFrame(random.Random(2).sample(rows, len(rows)), one.schema)
    answers = [
        deduplicate(df, text="text", method="minhash").collect()
        for df in (one.coalesce(1), many.repartition(5))
    ]
    assert sorted(map(repr, answers[0])) == sorted(map(repr, answers[1]))
    texts_kept = [row.text for row in answers[0] if row.verdict == "new"]
    assert len(set(texts_kept)) == len(texts_kept)
    assert len(answers[0]) == len(rows)


def test_sketches_that_were_stored_have_the_verdicts_of_their_texts(spark, tmp_path):
    rows = placed(judged.texts(random.Random(8), 80))
    df = frame(spark, rows).selectExpr("*", "cast(place % 3 as string) as site")
    options = {"key": "place", "method": "verified", "scope": "field:site"}
    made = sketches(df, text="text", **options)
    assert made.columns == ["place", "site", "dedup_record"]
    made.write.parquet(str(tmp_path / "sketches"))
    stored = spark.read.parquet(str(tmp_path / "sketches"))
    expected = found(deduplicate(df, text="text", order_by="place", **options))
    del options["scope"]  # they have it
    assert (
        found(deduplicate(stored, record="dedup_record", order_by="place", **options)) == expected
    )
    as_json = stored.selectExpr("place", "to_json(dedup_record) as record")
    others = deduplicate(as_json, record="record", key="place", method="simhash").collect()
    assert {row.verdict for row in others} == {"bad"}
    assert all(row.kept for row in others)


def test_what_makes_no_sense_is_refused(spark):
    df = spark.createDataFrame([("http://a/", "a", 1)], "url string, text string, n long")
    for options, message in [
        ({}, "exactly one of text, html and record must name a column, got none of them"),
        ({"text": "text", "html": "text"}, "got text and html"),
        ({"text": "body"}, "text: the DataFrame has no columns named 'body'; it has url, text, n"),
        ({"text": "n"}, "text: the column 'n' is bigint"),
        ({"text": "text", "key": "id"}, "key: the DataFrame has no columns named 'id'"),
        ({"text": "text", "order_by": ["n", "m"]}, "order_by: the DataFrame has no columns"),
        ({"text": "text", "keep": "newest"}, "keep newest needs the name of the field with the da"),
        ({"text": "text", "scope": "host", "key": None}, "scope host needs URLs, and nothing"),
        (
            {"text": "text", "method": "simhsh"},
            "method must be an import path or one of simhash, .*did you mean simhash",
        ),
        ({"text": "text", "page_timeout": 0}, "page_timeout must be from 1 to 86400 seconds, got"),
        ({"text": "text", "method": {"name": "simhash", "d": 3}}, "method simhash takes max_dist"),
    ]:
        with pytest.raises(ValueError, match=message):
            deduplicate(df, **options)
    with pytest.raises(ValueError, match="columns of the result already: kept"):
        deduplicate(df.withColumnRenamed("n", "kept"), text="text")


def test_executors_without_our_python_are_told_in_one_line(spark, monkeypatch):
    df = spark.createDataFrame([("u", "t")], "url string, text string")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
    told = "^the executors have no /nowhere/python: PYSPARK_PYTHON names their Python$"
    with pytest.raises(SparkError, match=told):
        deduplicate(df, text="text")


def test_a_string_that_is_not_utf_8_is_kept_as_bad_and_the_others_are_judged(spark):
    texts = [article(number % 3) for number in range(6)]
    rows = [(number, text.encode(), b"http://a/") for number, text in enumerate(texts)]
    rows += [(6, b"\xff\xfe" + texts[0].encode(), b"http://a/"), (7, texts[1].encode(), b"\xc3(")]
    pages = spark.createDataFrame(rows, "place long, text binary, url binary").selectExpr(
        "place", "cast(text as string) as text", "cast(url as string) as url"
    )
    judged = deduplicate(pages, text="text", order_by="place").select("place", "kept", "verdict")
    new, exact = (True, "new"), (False, "exact-duplicate")
    assert [tuple(row[1:]) for row in sorted(judged.collect())] == [
        *[new] * 3, *[exact] * 3, (True, "bad"), exact,
    ]  # fmt: skip
    [record] = sketches(pages.where("place = 6"), text="text").collect()
    assert record.dedup_record is None
