"""What every format has to do, and what is particular to each."""

import gzip
import pickle
import re
import time

import brotli
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import each
from collections_on_disk import (
    NAMES,
    compressed,
    decompressed,
    warc_page,
    warc_record,
    write,
    write_warc,
)
from warcio.archiveiterator import ArchiveIterator

from dedup.cli import main
from dedup.records import (
    FORMATS,
    Fields,
    Folder,
    Record,
    RecordError,
    format_of,
    format_of_name,
    lines,
)
from dedup.records.base import timestamp

NUMBERS = " ".join(str(number * 7919**3) for number in range(200))
TEXTS = ["one text", 'two "texts", with\nlines', "三个文本", None, "five", "six"]


def opened(*paths, **fields):
    return format_of(paths)(paths, Fields(**fields))


def records(format_):
    return [format_.parse(raw.data) for raw in format_.raw_records()]


def errors(format_):
    """What is wrong with each record: None for those that are well."""
    places = (f"{raw.source}, record {raw.number}: " for raw in format_.raw_records())
    found = format_.read_each(lambda raw: format_.parse(raw.data))
    return [
        str(one).removeprefix(place) if isinstance(one, RecordError) else None
        for place, one in zip(places, found, strict=True)
    ]


def rewritten(format_, target, keep):
    with format_.writing(target, keep):
        assert not target.exists()
    return target


def written(path, data):
    """Write bytes or a text to *path*, compressed as its name says."""
    data = data.encode() if isinstance(data, str) else data
    path.write_bytes(compressed(data, path.name))
    return path


@pytest.fixture(params=NAMES.values(), ids=NAMES)
def path(request, tmp_path):
    return write(tmp_path / request.param, TEXTS)


def test_every_form_is_covered_here(tmp_path):
    covered = {format_of([write(tmp_path / name, ["a"])]).name for name in NAMES.values()}
    assert covered == set(FORMATS)


def test_records_come_in_order_with_their_keys(path):
    found = records(opened(path))
    assert [record.content or None for record in found] == TEXTS
    keys = [f"page{number}" for number in range(len(TEXTS))]
    assert [record.key.rpartition("/")[2].removesuffix(".txt") for record in found] == keys
    assert not any(record.is_html for record in found)


def test_a_form_can_be_sent_to_another_process(path):
    format_ = opened(path)
    raws = list(format_.raw_records())
    again = pickle.loads(pickle.dumps(format_))
    assert [again.parse(raw.data) for raw in raws] == records(format_)


@pytest.mark.parametrize("keep", [[1, 0, 1, 0, 0, 1], [0, 0, 0, 1, 1, 0], [1] * 6])
def test_what_is_kept_is_written_unchanged_and_in_order(path, tmp_path, keep):
    format_ = opened(path)
    list(format_.raw_records())
    target = rewritten(format_, tmp_path / f"kept-{path.name}", keep)
    assert records(opened(target)) == [
        record for record, kept in zip(records(format_), keep, strict=True) if kept
    ]


def test_several_inputs_are_one_collection(path, tmp_path):
    other = write(tmp_path / f"other-{path.name}", ["seven", "eight"], first=6)
    format_ = opened(path, other)
    assert [each.content for each in records(format_)][-3:] == ["six", "seven", "eight"]
    assert [raw.number for raw in format_.raw_records()][-1] == (1 if path.is_dir() else 2)
    target = rewritten(format_, tmp_path / f"kept-{path.name}", [0, 0, 0, 0, 1, 1, 0, 1])
    assert [record.content for record in records(opened(target))] == ["five", "six", "eight"]


def test_a_file_that_changes_meanwhile_is_noticed(path):
    format_ = opened(path)
    format_.check_unchanged()
    write(path, [*TEXTS[:-1], "longer than six"])
    with pytest.raises(RecordError, match=r"has changed while it was read; scan it again"):
        format_.check_unchanged()


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("a.jsonl", "jsonl"), ("A.JSONL.GZ", "jsonl"), ("c4.00001.json.gz", "jsonl"),
        ("a.tsv.zst", "csv"), ("a.pq", "parquet"), ("CC-MAIN-2024.warc.gz", "warc"),
    ],
)  # fmt: skip
def test_a_format_is_known_by_the_name(tmp_path, name, format_):
    assert format_of_name(tmp_path / name).name == format_


@each(("name", "what"), [("a.parquet.gz", "parquet with .gz"), ("a.warc.zst", "warc with .zst")])
def test_other_names_are_refused(tmp_path, name, what):
    (tmp_path / name).touch()
    with pytest.raises(RecordError, match=f"{name}: {what} cannot be read"):
        format_of([tmp_path / name])


class TestJsonLines:
    def test_lines_are_written_back_byte_for_byte(self, tmp_path):
        lines = [
            b'{"text":  "a", "n": 1.0, "n": 1e400}\r\n',
            b' {"text": "\\u00e9", "more": NaN}\n',
            '{"text": "é"}'.encode(),
        ]
        path = written(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + b"\n \r\n".join(lines))
        format_ = opened(path)
        assert [each.content for each in records(format_)] == ["a", "é", "é"]
        target = rewritten(format_, tmp_path / "b.jsonl", [1, 1, 1])
        assert target.read_bytes() == b"".join(lines) + b"\n"

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            (b'{"text": "half', "the line does not end: half-written?"),
            (b'[{"text": "a"},\n', "; each line must be an object of its own"),
            (b"[1]\n", "must be a JSON object, got list"),
            (b'{"text": 7}\n', "the field 'text' must be a string, got int"),
            (b'{"text": "\xff"}\n', "not utf-8 (invalid start byte at 10)"),
            (b"[" * 100_000 + b"\n", "not JSON (maximum recursion depth exceeded"),
            (b'{"text": "a", "on": "soon"}\n', "the field 'on' must be an ISO 8601 date"),
            (b'{"text": "a", "home": 7}\n', "the field 'home' must be a string, got int"),
        ],
    )
    def test_a_bad_line_is_one_bad_record(self, tmp_path, line, message):
        path = written(tmp_path / "a.jsonl", b'{"text": "a"}\n' + line)
        first, second = errors(opened(path, date="on", canonical="home"))
        assert first is None
        assert message in second

    @pytest.mark.parametrize("longer", [0, 1, 99, 100, 101, 1000])
    @pytest.mark.parametrize("end", [b"\n", b""])
    def test_a_line_that_is_too_long_is_one_bad_record(self, tmp_path, monkeypatch, longer, end):
        monkeypatch.setattr(lines, "LONGEST_LINE", 100)
        good = b'{"text": "a"}\n'
        long = b'{"text": "%s"}' % (b"b" * (88 - len(end) + longer)) + end
        path = written(tmp_path / "a.jsonl", good + long + (good if end else b""))
        found = errors(opened(path))
        assert found[0] is None
        assert (found[1] is None) == (longer == 0)
        assert found[2:] == ([None] if end else [])
        keep = [1, longer == 0, 1][: len(found)]
        target = rewritten(opened(path), tmp_path / "b.jsonl", keep)
        kept = good + (long.rstrip(b"\n") + b"\n" if longer == 0 else b"") + (good if end else b"")
        assert target.read_bytes() == kept

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
    def test_what_is_whole_in_a_file_that_is_cut_off_is_read(self, tmp_path, name):
        lines = b"".join(b'{"text": "%d"}\n' % (n * 7919**3) for n in range(100_000))
        path = written(tmp_path / name, lines)
        path.write_bytes(path.read_bytes()[:-100])
        found = errors(opened(path))
        assert len(found) > 90_000
        assert not any(found[:-1])
        assert "the file is damaged or cut off here" in found[-1]
        assert [raw.number for raw in opened(path).raw_records()] == list(range(1, len(found) + 1))

    def test_only_the_file_begins_with_a_byte_order_mark(self, tmp_path):
        path = written(tmp_path / "a.jsonl", b"\xef\xbb\xbf{}\n" * 2)
        first, second = errors(opened(path))
        assert first is None
        assert second.startswith("not JSON")

    def test_other_fields_hold_html_and_key(self, tmp_path):
        path = written(tmp_path / "a.jsonl", b'{"body": "<p>a", "id": 17, "text": 1}\n')
        [record] = records(opened(path, content="body", is_html=True, key="id"))
        assert record == Record("<p>a", True, "17", None)


class TestDelimited:
    def test_an_empty_field_is_none_and_a_damaged_file_is_named(self, tmp_path):
        path = written(tmp_path / "a.csv", "url,text,canonical\n,one,c\nb,two,\n")
        found = [(record.key, record.canonical or None) for record in records(opened(path))]
        assert found == [(None, "c"), ("b", None)]
        (tmp_path / "a.csv.gz").write_text("text\na\n")
        with pytest.raises(RecordError, match=r"a\.csv\.gz: the file is damaged"):
            opened(tmp_path / "a.csv.gz")

    def test_a_name_that_nobody_asks_for_may_be_that_of_several_columns(self, tmp_path):
        path = written(tmp_path / "a.csv", "url,text,canonical,canonical\na,one,c,d\n")
        assert [record.canonical for record in records(opened(path))] == [None]

    def test_rows_are_written_back_byte_for_byte(self, tmp_path):
        header = "text;n\r\n"
        rows = ['"a ""b""\n\r\nc;d";1\r\n', "plain; 2 \n", '"last";""']
        path = written(
            tmp_path / "a.csv", header + "\r\n".join(["", *rows]).replace("\r\n\r\n", "\r\n")
        )
        format_ = opened(path)
        assert [one.content for one in records(format_)] == ['a "b"\n\r\nc;d', "plain", "last"]
        target = rewritten(format_, tmp_path / "b.csv", [1, 0, 1])
        assert target.read_bytes().decode() == header + rows[0] + rows[2] + "\n"

    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    def test_the_header_shows_the_delimiter(self, tmp_path, delimiter):
        rows = [["a", "text", "c"], ["1", "words, and; more", "3"]]
        text = "".join(delimiter.join(f'"{value}"' for value in row) + "\n" for row in rows)
        assert records(opened(written(tmp_path / "a.csv", text)))[0].content == "words, and; more"

    def test_a_mark_at_the_beginning_does_no_harm_and_another_encoding_is_an_error(self, tmp_path):
        path = written(tmp_path / "a.csv", "\ufefftext\na\n\ufeffb\n")
        # Only where the file begins, it is a mark.
        assert [record.content for record in records(opened(path))] == ["a", "\ufeffb"]
        path = written(tmp_path / "a.csv", "text\nnaïve\n".encode("latin-1"))
        assert errors(opened(path)) == ["not utf-8"]

    def test_long_fields_are_read(self, tmp_path):
        path = written(tmp_path / "a.csv", f"text\n{'long ' * 100_000}\n")
        assert len(records(opened(path))[0].content) == 500_000

    def test_bad_rows_are_bad_records(self, tmp_path):
        path = written(tmp_path / "a.csv", 'text,n\na,1\nb\nc,1,2\n"d"d,1\ne,1\n"half,1\nf,1')
        assert errors(opened(path)) == [
            None,
            "1 columns, where the header has 2",
            "3 columns, where the header has 2",
            "not a CSV row (',' expected after '\"')",
            None,
            "not a CSV row (unexpected end of data), in 2 lines: is a quote not closed?",
        ]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is empty: it must have a header with the names of the columns"),
            ("a,b\n1,2\n", "has no columns named 'text'; it has a, b"),
            ("text,text\n1,2\n", "has 2 columns named 'text'"),
        ],
    )
    def test_a_header_without_the_field_is_refused(self, tmp_path, text, message):
        with pytest.raises(RecordError, match=message):
            opened(written(tmp_path / "a.csv", text))

    def test_of_all_columns_each_has_a_name_of_its_own(self, tmp_path):
        path = written(tmp_path / "a.csv", "text,city,city\n1,2,3\n")
        assert len(records(opened(path))) == 1
        with pytest.raises(RecordError, match="has 2 columns named 'city'"):
            opened(path, with_all=True)

    @pytest.mark.parametrize("header", ["text,url", "url,text,more", "url;text"])
    def test_files_with_other_headers_are_refused(self, tmp_path, header):
        one = written(tmp_path / "a.csv", "url,text\na,b\n")
        other = written(tmp_path / "b.csv", f"{header}\na,b\n")
        message = r"the columns or delimiters of .*b.csv and .*a.csv differ"
        with pytest.raises(RecordError, match=message):
            opened(one, other)


class TestParquet:
    def test_schema_metadata_groups_and_compression_stay(self, tmp_path):
        path = write(tmp_path / "a.parquet", TEXTS)
        target = rewritten(opened(path), tmp_path / "b.parquet", [1, 1, 0, 0, 0, 1])
        before, after = pq.ParquetFile(path), pq.ParquetFile(target)
        assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
        assert after.schema_arrow.metadata == {b"made": b"here"}
        assert [after.metadata.row_group(n).num_rows for n in range(2)] == [2, 1]
        assert after.metadata.row_group(0).column(2).compression == "ZSTD"
        assert after.read().to_pylist() == before.read().take([0, 1, 5]).to_pylist()

    def test_html_may_be_bytes(self, tmp_path):
        html = "<meta charset=gbk><p>北京".encode("gbk")
        pq.write_table(pa.table({"html": [html, None]}), tmp_path / "a.parquet")
        format_ = opened(tmp_path / "a.parquet", content="html", is_html=True)
        found = [record.content for record in records(format_)]
        assert found == ["<meta charset=gbk><p>北京", None]

    @each(
        ("columns", "message"),
        [({"body": ["a"]}, "named 'text'; it has body"), ({}, "has no columns named 'text'")],
    )
    def test_a_table_without_the_column_is_refused(self, tmp_path, columns, message):
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        with pytest.raises(RecordError, match=message):
            opened(tmp_path / "a.parquet")

    def test_a_column_of_which_no_rows_can_be_selected_is_refused_before_the_table_is_read(
        self, tmp_path
    ):
        views = pa.array([["a"]], pa.list_(pa.string_view()))
        pq.write_table(pa.table({"text": ["a"], "tags": views}), tmp_path / "a.parquet")
        message = r"a.parquet: pyarrow cannot select rows of the column 'tags' \(.*string_view"
        with pytest.raises(RecordError, match=message):
            opened(tmp_path / "a.parquet").check_output(tmp_path / "b.parquet")

    def test_what_is_no_table_is_refused(self, tmp_path):
        (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
        with pytest.raises(RecordError, match=r"a.parquet is not a Parquet file \("):
            opened(tmp_path / "a.parquet")


def _id(record):
    return re.search(rb"WARC-Record-ID: (\S+)", record)[1].decode()


class TestWarc:
    @pytest.fixture(params=["a.warc", "a.warc.gz"])
    def archive(self, request, tmp_path):
        html = "text/html"
        return write_warc(tmp_path / request.param, [
            warc_record("warcinfo", None, b"software: test\r\n"),
            *warc_page("http://a/1", "<p>one", media_type=html),
            *warc_page("http://a/2", "<p>two", media_type=html),
            *warc_page("http://a/3", "picture", media_type="image/png"),
            *warc_page("http://a/4", "<p>not found", media_type=html, status="404 Not Found"),
            *warc_page("http://a/5", f"<p>five {NUMBERS}", media_type="application/xhtml+xml"),
        ])  # fmt: skip

    def entries(self, path):
        with path.open("rb") as file:
            return [
                (entry.rec_type, entry.rec_headers.get_header("WARC-Target-URI"))
                for entry in ArchiveIterator(file)
            ]

    def test_pages_are_responses_with_html_or_text(self, archive):
        found = records(opened(archive, date="WARC-Date"))
        assert [record.key for record in found] == ["http://a/1", "http://a/2", "http://a/5"]
        assert found[0] == Record("<p>one", True, "http://a/1", 1714521600.0)

    def test_status_and_media_type_are_read_as_http_has_them(self, tmp_path):
        path = write_warc(tmp_path / "a.warc", [
            *warc_page("http://a/1", "<p>one", media_type="Text/HTML; Charset=UTF-8"),
            *warc_page("http://a/2", "<p>two", media_type="text/html", status="203 Copied"),
            *warc_page("http://a/3", "<p>moved", media_type="text/html", status="302 Found"),
        ])  # fmt: skip
        found = [(record.key, record.is_html) for record in records(opened(path))]
        assert found == [("http://a/1", True), ("http://a/2", True)]

    @pytest.mark.parametrize("decoded", [True, False])
    def test_bodies_that_browsers_got_in_brotli_are_decoded_unless_they_are(
        self, tmp_path, decoded
    ):
        html = b"<p>one"
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\n\r\n"
        block = head + (html if decoded else brotli.compress(html))
        kind = {"Content_Type": "application/http; msgtype=response"}
        response = warc_record("response", "http://a/1", block, **kind)
        path = write_warc(tmp_path / "a.warc", [response])
        assert [record.content for record in records(opened(path))] == ["<p>one"]

    def test_requests_go_with_their_pages_and_all_else_stays(self, archive, tmp_path):
        format_ = opened(archive)
        assert len(list(format_.raw_records())) == 3
        target = rewritten(format_, tmp_path / archive.name.replace("a", "b", 1), [1, 0, 1])
        before = self.entries(archive)
        assert self.entries(target) == [entry for entry in before if entry[1] != "http://a/2"]
        assert len(before) == 11

    def test_what_refers_to_a_page_goes_with_it(self, tmp_path):
        pages = [warc_page(f"http://a/{n}", f"text {n}") for n in (1, 2)]
        about = [
            warc_record("metadata", uri, b"fetched: once", WARC_Refers_To=_id(response))
            for uri, (_, response) in zip(("http://a/1", "http://a/2"), pages, strict=True)
        ]
        path = write_warc(tmp_path / "a.warc", [*pages[0], about[0], *pages[1], about[1]])
        target = rewritten(opened(path), tmp_path / "b.warc", [0, 1])
        assert self.entries(target) == [
            (kind, "http://a/2") for kind in ("request", "response", "metadata")
        ]

    def test_a_record_that_is_cut_off_is_bad(self, archive, tmp_path):
        archive.write_bytes(archive.read_bytes()[:-100])
        format_ = opened(archive)
        assert errors(format_) == [None, None, "the record is cut off; nothing after it is read"]
        target = rewritten(format_, tmp_path / archive.name.replace("a", "b", 1), [1, 0, 0])
        assert ("response", "http://a/4") in self.entries(target)

    def test_compression_of_the_whole_is_told(self, tmp_path):
        path = write(tmp_path / "a.warc", ["one", "two"])
        whole = tmp_path / "b.warc.gz"
        whole.write_bytes(gzip.compress(path.read_bytes()))
        assert "); warcio recompress mends that" in errors(opened(whole))[-1]


class TestFolder:
    def test_html_is_decoded_and_text_is_not(self, tmp_path):
        for name, data in {
            "b.HTML": '<meta charset="gbk"><p>北京'.encode("gbk"),
            "a.txt": "<p>北京".encode(),
            "c.png": b"\x89PNG",
            ".hidden.txt": b"hidden",
            ".git/d.txt": b"hidden",
            "bad.txt": b"\xff",
        }.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(data)
        format_ = opened(tmp_path)
        raws = list(format_.raw_records())
        assert [raw.data[1] for raw in raws] == ["a.txt", "b.HTML", "bad.txt"]
        assert format_.parse(raws[0].data)[:3] == ("<p>北京", False, "a.txt")
        assert format_.parse(raws[1].data)[:3] == ('<meta charset="gbk"><p>北京', True, "b.HTML")
        assert errors(format_)[2] == "not utf-8 (invalid start byte at 0)"
        (tmp_path / "bad.txt").unlink()  # since, or it may not be read
        assert errors(format_)[2] == "cannot be read (No such file or directory)"

    def test_each_process_that_parses_files_has_their_names_once(self, tmp_path):
        (tmp_path / "below").mkdir()
        (tmp_path / "below" / "one.txt").touch()
        assert pickle.dumps(opened(tmp_path)).count(b"one.txt") == 1

    def test_dates_and_modes_are_copied(self, tmp_path):
        folder = write(tmp_path / "a", ["text"])
        target = rewritten(opened(folder), tmp_path / "b", [1]) / "texts" / "page0.txt"
        assert target.stat().st_mtime == 1_000_000_000
        assert records(opened(folder))[0].date == 1_000_000_000

    def test_it_takes_no_time_to_find_a_name_that_many_folders_have(self, tmp_path, monkeypatch):
        names = [f"{number}.txt" for number in range(20_000)]
        monkeypatch.setattr("dedup.records.folder._names_in", lambda folder: names)
        start = time.process_time()
        with pytest.raises(RecordError, match=r"^0.txt is in more than one of the folders"):
            Folder([tmp_path / "a", tmp_path / "b"], Fields())
        assert time.process_time() - start < 1


@each(
    ("value", "seconds"),
    [
        (None, None), ("", None), (0, 0.0), ("1714521600", 1714521600.0), (1.5, 1.5),
        ("2024-05-01", 1714521600.0), ("2024-05-01T02:00:00+02:00", 1714521600.0),
        ("2024-05-01T00:00:00Z", 1714521600.0), ("Wed, 01 May 2024 00:00:00 GMT", 1714521600.0),
    ],
)  # fmt: skip
def test_dates_of_many_forms_are_understood(value, seconds):
    assert timestamp(value, "date") == seconds


@each("value", ["soon", "2024-13-01", True, [1], float("nan"), "inf", {}, 1700000000000, "1e20"])
def test_what_is_no_date_is_refused(value):
    with pytest.raises(RecordError, match="the field 'date' must be an ISO 8601 date"):
        timestamp(value, "date")


def test_compressed_output_is_the_same_each_time(tmp_path):
    for name in ("a.jsonl.gz", "a.jsonl.zst"):
        outputs = []
        for _ in range(2):
            target = tmp_path / f"unique{len(outputs)}-{name}"
            rewritten(opened(written(tmp_path / name, '{"text": "a"}\n' * 9)), target, [1] * 9)
            outputs.append(target.read_bytes())
        assert outputs[0] == outputs[1]
        assert name != "a.jsonl.gz" or outputs[0][4:8] == bytes(4)  # no time
        assert decompressed(target) == decompressed(tmp_path / name)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="Windows")
def test_a_date_without_a_zone_is_in_utc_wherever_one_is(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert timestamp("2024-05-01", "date") == 1714521600
    time.tzset()


def test_an_output_behind_a_link_is_replaced_with_the_mode_that_it_has(tmp_path):
    from dedup.atomic_file import replacing

    path = tmp_path / "unique.jsonl"
    path.write_text("precious")
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    with replacing(tmp_path / "link") as file:
        file.write(b"mine")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("mine", 0o640)
    assert (tmp_path / "link").is_symlink()


@each("header", ['url,text,"multi\nline"\n', '\ufeff"url","text","n"\n'])
def test_a_header_is_written_whole(tmp_path, header):
    path, out = tmp_path / "pages.csv", tmp_path / "unique.csv"
    rows = ["a,one two three,x\n", "b,one two three,y\n", 'c,else,"z\nz"\n']
    path.write_text(header + "".join(rows), "utf-8")
    out.unlink(missing_ok=True)
    assert main(["scan", str(path), "-o", str(out)]) == 0
    assert out.read_text("utf-8") == header + rows[0] + rows[2]
    (tmp_path / "cr.csv").write_bytes(b"url,text\ra,b\r")
    assert main(["scan", str(tmp_path / "cr.csv"), "-o", str(tmp_path / "no.csv")]) == 2


def test_a_header_with_a_quote_that_is_never_closed_is_refused_in_time(tmp_path):
    path = tmp_path / "pages.csv"
    path.write_bytes(b'url,"text\n' + b"a\n" * 3_000_000)
    start = time.process_time()
    with pytest.raises(RecordError, match=r"header: not a CSV row \(unexpected end of data"):
        opened(path)
    assert time.process_time() - start < 5
