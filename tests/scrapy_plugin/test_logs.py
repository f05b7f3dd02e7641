import ast
import contextlib
import io
import json
import logging
import re
from functools import cache

import labelled
import pytest
from crawls import crawl, spider_over
from syntax import nodes

from dedup.cli import main
from dedup.logs import get_logger
from dedup.text import Lines

# A code for terminals in 7 and in 8 bits, a forged entry, what turns the line around, no character.
HOSTILE = (
    "\x1b[31m\x9b2J\r\n2026-01-01 [dedup] INFO: forged\x85\u2028\u202ecba\u2066\ud800\x00\x07\b"
)
WORDS = " ".join(f"word{number}" for number in range(60))


@cache
def calls():
    """All calls in the code, each with its file."""
    return [(path, node) for path, node in nodes() if isinstance(node, ast.Call)]


def unsafe(text):
    """What of *text* may break or steer a line, but for its line ends."""
    return {char for char in text if not char.isprintable() and char != "\n"}


class HostileError(Exception):
    def __str__(self):
        return f"{HOSTILE} {'x' * 10_000_000}"


def formatted(log):
    """What a handler writes with the plainest of formats."""
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    logger = get_logger("dedup.test")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        log(logger)
    finally:
        logger.removeHandler(handler)
    return output.getvalue()


def test_arguments_of_a_logger_are_printable():
    told = formatted(
        lambda logger: logger.info("%s, %.500s, %r, %d", HOSTILE, HostileError(), "a", 3)
    )
    assert unsafe(told) == set()
    assert (told.count("\n"), told[-9:]) == (1, ", 'a', 3\n")
    assert len(told) < 5_000


def test_a_text_of_printable_lines_is_logged_as_it_is():
    assert formatted(lambda logger: logger.info("%s", Lines("one\ntwo"))) == "one\ntwo\n"


def test_a_traceback_is_printable_and_no_line_of_it_begins_as_an_entry():
    def log(logger):
        try:
            raise HostileError
        except HostileError as error:
            try:
                raise ValueError(HOSTILE) from error
            except ValueError:
                logger.exception("Failed on %s", HOSTILE)

    told = formatted(log)
    assert unsafe(told) == set()
    assert "ValueError" in told
    assert all(line.startswith("  ") for line in told.splitlines()[1:])
    assert len(told) < 20_000


@pytest.mark.slow
def test_every_logger_is_one_whose_arguments_are_made_printable():
    makers = [
        (path.name, ast.unparse(node))
        for path, node in calls()
        if ast.unparse(node.func).endswith("getLogger")
    ]
    assert sorted(makers) == [
        ("logs.py", "logging.getLogger(name)"),
        ("own_trafilatura.py", "getLogger(NAME)"),  # which is switched off
        ("own_trafilatura.py", "getLogger(__name__)"),  # of selectors alone
        ("worker.py", "logging.getLogger('dedup')"),  # of which the pool is told
    ]


@pytest.mark.slow
def test_what_the_log_is_told_is_a_constant_with_arguments():
    """In the text itself, nothing would be made printable."""
    levels = {"debug", "info", "warning", "error", "critical", "exception", "tell_once"}
    others = {
        (path.name, ast.unparse(call.args[0]))
        for path, call in calls()
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in levels
        and ast.unparse(call.func.value) in ("logger", "self._notices", "self.notices")
        and not isinstance(call.args[0], ast.Constant)
    }
    assert others == {
        ("notices.py", "message"),  # which passes on what it is told
        ("notices.py", "f'Dedup failed on {what}; the item is kept'"),
        ("judging.py", "f'A page cannot be read ({cause}): <%s>: %.500s'"),
        ("judging.py", "_OPEN_BATCHES"),
    }


@pytest.mark.slow
def test_what_commands_print_is_printable():
    """Each value in a text that is printed has a number's format, or goes through `printable`."""

    def is_safe(value):
        text = ast.unparse(value.value)
        is_number = (
            value.format_spec is not None
            or value.conversion == ord("r")
            or re.match(r"format_\w+\(", text)  # dedup.units
        )
        return is_number or "printable(" in text or text in (
            "program", "name", "options.command", "output", "message", "digest", "verdict",
            "_MEANINGS[verdict]", "each.method.name", "line",
        )  # fmt: skip

    unsafe_ones = [
        f"{path.name}:{call.lineno}: {ast.unparse(call)}"
        for path, call in calls()
        if ast.unparse(call.func) in ("print", "output.print")
        for argument in call.args
        if isinstance(argument, ast.JoinedStr)
        for value in argument.values
        if isinstance(value, ast.FormattedValue) and not is_safe(value)
    ]
    assert unsafe_ones == []


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """What a crawl logged and reported that met hostile strings wherever they can stand."""

    def parse(self, response):
        for number in range(3):
            # The host is among what the report counts by.
            url = f"http://{'a' * 10}{HOSTILE}/{number}{HOSTILE}{'x' * 100_000}"
            yield {"url": url, "text": WORDS, "title": HOSTILE}
        yield {"url": f"http://b/{HOSTILE}", "text": WORDS.replace("word7", "other")}
        yield {"url": f"http://c/{HOSTILE}", "text": None}

    tmp_path = tmp_path_factory.mktemp("hostile")
    done = crawl(
        spider_over("data:text/html,<p>a", parse=parse),
        URLLENGTH_LIMIT=0,
        DEDUP_ITEM_FIELD="text",
        DEDUP_REPORT=str(tmp_path / "reports"),
        DEDUP_INDEX=str(tmp_path / "pages.sqlite"),
    )
    return done, tmp_path


class TestCrawl:
    def test_nothing_in_the_log_steers_a_terminal(self, hostile):
        done, _ = hostile
        formatter = logging.Formatter("%(message)s")
        told = [formatter.format(record) for record in done.log if record.name.startswith("dedup")]
        assert any(text.startswith("Dedup report:") for text in told)
        assert set().union(*map(unsafe, told)) == set()
        assert not [line for text in told for line in text.splitlines() if line.startswith("2026-")]
        assert max(map(len, told)) < 20_000
        assert set().union(*(unsafe(str(exception)) for _, exception in done.dropped)) == set()

    def test_nothing_in_the_reports_steers_a_terminal(self, hostile):
        _, folder = hostile
        [json_file] = (folder / "reports").glob("*.json")
        text = json_file.read_text("utf-8")
        assert unsafe(text) == set()
        assert "\\u202e" in text
        html = json_file.with_suffix(".html").read_text("utf-8")
        assert unsafe(html) - {"\t", "\u200b", "\u00a0"} == set()
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x80-\x9f]", html)
        assert json.loads(text)["pages"]["judged"] >= 4

    def test_no_command_prints_what_steers_a_terminal(self, hostile, capsys):
        _, folder = hostile
        ledger = str(folder / "pages.sqlite")
        pages = folder / "pages.jsonl"
        lines = [
            {"url": f"{n}{HOSTILE}", "text": f"{WORDS} {HOSTILE} {n % 2}", "id": f"{n}{HOSTILE}"}
            for n in range(3)
        ]
        pages.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        other = folder / "other.txt"
        other.write_text(f"{WORDS} else {HOSTILE}", "utf-8", "replace")
        odd = HOSTILE.replace("\x00", "").replace("\ud800", "\udcff")  # as arguments can be
        unwritten = str(folder / f"{odd.replace('/', '')}.jsonl")
        for arguments in (
            ["report", ledger],
            ["report", ledger, "-o", str(folder / "of-ledger.html")],
            ["explain", str(pages), str(other)],
            ["explain", "--ledger", ledger, f"http://b/{HOSTILE}", f"http://c/{HOSTILE}"],
            ["explain", odd, odd],
            ["scan", str(pages), "-o", str(folder / "unique.jsonl"), "--workers", "1"],
            ["scan", odd, "-o", odd],
            ["scan", str(pages), "-o", unwritten, "--key-field", odd],
            ["evaluate", str(pages), "--sample", "9", "-o", str(folder / "pairs.tsv")],
            ["evaluate", str(pages), "--answers", odd, "--method", odd],
            ["evaluate", str(labelled.write(folder / "\x1b[2J")), "--errors", "1"],
            ["evaluate", odd],
            ["evaluate", odd, "--lexicon", "-o", odd],
        ):
            with contextlib.suppress(SystemExit):
                main(arguments)
            told = capsys.readouterr()
            assert unsafe(told.out + told.err) == set(), arguments
            assert "\n2026-" not in told.out + told.err, arguments
        with pytest.raises(SystemExit):
            main(["report", ledger, f"--{odd}"])
        assert unsafe(capsys.readouterr().err) == set()
