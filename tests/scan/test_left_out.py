"""How much text scans leave out, by exact counts."""

import random

import commands
import pytest
from collections_on_disk import write_lines
from test_deciding import scanned
from texts import CHINESE, article, edited, replaced

from dedup.page import PageReader
from dedup.text import Document

TEXTS = [
    article(1),
    f"{article(1)} and three words more",
    article(2),
    article(1),
    edited(article(2)),
    "short",
    "short",
    "",
    CHINESE,
    edited(CHINESE),
]


def sequences(text):
    tokens = Document.from_main_text(text).tokens
    width = min(3, len(tokens))
    return {tuple(tokens[at : at + width]) for at in range(len(tokens) - width + 1) if width}


def exact(texts, outcome):
    """How many sequences the left out texts have, and how many of these no kept one has."""
    keep = outcome.keep
    stored = set().union(*(sequences(text) for text, kept in zip(texts, keep, strict=True) if kept))
    dropped = [sequences(text) for text, kept in zip(texts, keep, strict=True) if not kept]
    return sum(map(len, dropped)), sum(len(own - stored) for own in dropped)


def scan_of(path, texts, **options):
    lines = [{"text": text, "date": f"2026-01-{1 + n % 28:02}"} for n, text in enumerate(texts)]
    return scanned(write_lines(path, lines), fields={"date": "date"}, **options)


@pytest.mark.parametrize("keep", ["first", "longest", "newest"])
def test_what_is_lost_follows_from_the_final_fates(tmp_path, keep):
    outcome = scan_of(tmp_path / "pages.jsonl", TEXTS, keep=keep)
    total, lost = exact(TEXTS, outcome)
    assert outcome.lost_text == (total, lost / total, 0)
    for number, original, gone, of in outcome.lossiest:
        assert not outcome.keep[number]
        assert outcome.keep[original]
        assert of == len(sequences(TEXTS[number]))
        assert 0 < gone <= of
    assert sum(gone for _, _, gone, _ in outcome.lossiest) == lost
    assert (1, 0) in [drop[:2] for drop in outcome.lossiest] or keep != "first"


def test_what_is_lost_does_not_depend_on_how_much_each_worker_has_read(tmp_path, monkeypatch):
    monkeypatch.setattr("dedup.lost_text.SEQUENCES_OF_A_SAMPLE", 500)
    chance, path = random.Random(1), tmp_path / "pages.jsonl"
    texts = [article(number, 300) for number in range(20)]
    texts += [replaced(text, chance.randrange(1, 12)) for text in texts]
    chance.shuffle(texts)
    by_one = scan_of(path, texts)
    # As if each record had a worker of its own.
    nothing = property(lambda reader: 0, lambda reader, sequences: None)
    monkeypatch.setattr(PageReader, "_sequences_before", nothing, raising=False)
    by_many = scan_of(path, texts)
    assert by_many.lost_text == by_one.lost_text
    assert by_many.lossiest == by_one.lossiest
    assert by_one.lost_text.error


def test_the_figures_name_the_worst_records(tmp_path, capsys):
    lines = [{"text": text, "url": f"http://a/{n}"} for n, text in enumerate(TEXTS)]
    path = write_lines(tmp_path / "pages.jsonl", lines)
    with_keys = "--clusters", tmp_path / "clusters.jsonl"
    found = [commands.scanned(path, *options)[2]["lost_text"] for options in ((), with_keys)]
    assert found[0]["sequences"] == found[1]["sequences"] > 400
    one, other = (each["lossiest"][-1] for each in found)
    assert one == {"number": 2, "original": {"number": 1}, "lost": 4, "sequences": 202}
    assert other == {
        **one,
        "key": "http://a/1",
        "original": {"number": 1, "key": "http://a/0"},
    }
    (tmp_path / "clusters.jsonl").unlink()
    told = commands.shown(capsys, "scan", path, "-o", tmp_path / "other.jsonl", *with_keys)
    assert "of record 2 (http://a/1), left out for record 1" in told
