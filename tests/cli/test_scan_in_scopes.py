"""``dedup scan --scope``: records are compared within what their fields, URLs and languages say."""

import csv

import pytest
from cases import each
from collections_on_disk import write_lines
from commands import scanned
from texts import CHINESE, article, edited, page

TEXT = article(3)
LAMPS = [
    {"url": "http://a/1", "sku": "L-1", "text": TEXT},
    {"url": "http://a/2", "sku": "L-2", "text": TEXT},
    {"url": "http://b/1", "sku": "L-1", "text": edited(TEXT, "x")},
    {"url": "http://b/2", "sku": "", "text": TEXT},
    {"url": "http://b/3", "text": TEXT},
]


def number(item):
    return item["sku"]


def write(path, records):
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, ["url", "sku", "text"])
            table.writeheader()
            table.writerows(records)
    elif path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {name: [one.get(name) for one in records] for name in ("url", "sku", "text")}
        pq.write_table(pa.table(columns), path)
    else:
        write_lines(path, records)
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("scope", ["field:sku", "field:sku,crawl"])
def test_records_are_compared_within_a_field(tmp_path, suffix, scope):
    path = write(tmp_path / f"lamps{suffix}", LAMPS)
    code, kept, figures = scanned(path, "--scope", scope)
    assert (code, kept) == (0, [0, 1, 3, 4])
    assert (figures["near_duplicates"], figures["kept_without_scope"]) == (1, 2)
    assert scanned(path)[1] == [0]


def test_records_are_compared_within_what_their_urls_say(tmp_path):
    path = write(tmp_path / "lamps.jsonl", [{**lamp, "text": TEXT} for lamp in LAMPS])
    for keep in ("first", "longest"):
        assert scanned(path, "--scope", "host", "--keep", keep)[:2] == (0, [0, 2])


def test_records_have_the_language_that_they_declare_or_that_of_their_script(tmp_path):
    german = page(TEXT).replace('lang="en"', 'lang="de-CH"')
    pages = [page(TEXT), german, page(TEXT, footer="F"), german.replace("Footer", "F")]
    path = write(tmp_path / "pages.jsonl", [{"html": html} for html in pages])
    assert scanned(path, "--html-field", "html", "--scope", "language")[:2] == (0, [0, 1])
    path = write(tmp_path / "texts.jsonl", [{"text": CHINESE}, {"text": TEXT}, {"text": CHINESE}])
    assert scanned(path, "--scope", "language")[2]["exact_duplicates"] == 1


def test_what_fails_in_a_function_costs_no_record(tmp_path):
    path = write(tmp_path / "lamps.jsonl", LAMPS)
    code, kept, figures = scanned(path, "--scope", f"{__name__}.number")
    # "" is a value that a function may return.
    assert (code, kept, figures["kept_unread"]) == (0, [0, 1, 3, 4], 1)
    assert figures["first_unread"] == f"{path}, record 5: its scope: KeyError: 'sku'"


@each(
    ("name", "arguments", "message"),
    [
        ("lamps.jsonl", ["--scope", "field:skuu"], "the first 5 records has a value for --scope"),
        ("lamps.jsonl", ["--scope", "hots"], "got 'hots'; did you mean host?"),
        ("texts.jsonl", ["--scope", "host"], "has a URL for --scope host; --key-field names"),
        ("site", ["--scope", "field:sku"], "a folder has no fields to be named"),
        ("site", ["--scope", "host"], "--scope host needs URLs, and nothing that is compared"),
        (
            "lamps.jsonl",
            ["--scope", "language", "--record-field", "r"],
            "needs a language, which no record of a page has",
        ),
    ],
)
def test_a_scope_that_can_only_fail_is_refused(tmp_path, name, arguments, message):
    write(tmp_path / "lamps.jsonl", LAMPS)
    write(tmp_path / "texts.jsonl", [{"text": TEXT}])
    (tmp_path / "site").mkdir(exist_ok=True)
    (tmp_path / "site" / "a.txt").write_text(TEXT)
    code, _, err = scanned(tmp_path / name, *arguments)
    assert (code, message in err) == (2, True)


def test_a_scan_goes_on_within_its_scopes(tmp_path):
    path, sketches = write(tmp_path / "lamps.jsonl", LAMPS), tmp_path / "sketches"
    options = ["--scope", "field:sku", "--sketches", sketches]
    first, again = scanned(path, *options), scanned(path, *options)
    assert (first[1], again[1]) == ([0, 1, 3, 4], [0, 1, 3, 4])
    assert again[2]["from_sketches"] == 5
    assert again[2]["kept_without_scope"] == 2
    code, _, err = scanned(path, "--sketches", sketches)
    assert (code, "scope 'field:sku' there, None here" in err) == (2, True)
