"""The commands that take a ledger take the URL of a store that crawls share, too."""

import json
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import commands
import pytest
from commands import TOWN, json_of, refused, run
from crawls import known_site
from ledgers import add, joined, leave, publish, record
from redis import Redis
from redis_server import free_port, redis_server
from texts import article, page

from dedup.stores.reader import LedgerReader
from dedup.stores.server_url import without_secrets

IDENTITY = {"method": "simhash", "version": 1, "bits": 64, "max_distance": 3, "scope": "crawl"}
PASSWORD = "hush: a/secret?#"


@pytest.fixture(scope="module")
def server():
    with redis_server(requirepass=PASSWORD) as server:
        yield server


@pytest.fixture
def url(server, request):
    """The URL of a store of the test alone."""
    return url_of(server, f"test{abs(hash(request.node.nodeid))}")


def url_of(server, namespace, password=PASSWORD):
    return f"redis://:{quote(password, '')}@127.0.0.1:{server.port}/0?namespace={namespace}"


@pytest.fixture(scope="module")
def town(server):
    """The store of two crawls, the second with a changed page, and the URL of the site."""
    store = url_of(server, "town")
    with known_site(TOWN, Path()) as site:
        site.crawl(DEDUP_INDEX=store)
        site.pages["/c"] = page(article(3))
        # Not /d: whether it repeats /c would depend on which of them is stored first.
        site.crawl("/a", "/b", "/c", DEDUP_INDEX=store)
    return store, site.url


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where temporary files go; none is left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def shown(capsys, *arguments):
    """What a command shows that goes well; no password is in it."""
    out = commands.shown(capsys, *arguments)
    assert "hush" not in out
    return out


@pytest.mark.slow
def test_stats_are_those_of_the_ledger(town, tmp_path, capsys):
    store, _ = town
    file = tmp_path / "pages.sqlite"
    assert shown(capsys, "ledger", store, "-o", file) == f"{file}: 2 pages\n"
    of_store, of_file = (json_of(capsys, "report", place) for place in (store, file))
    assert of_store == of_file | {"ledger": without_secrets(store), "bytes": None}
    assert (of_store["pages"], of_store["ended"], of_store["matches"]) == (2, 1, 2)
    assert [(row["run"], row["pages"]["judged"]) for row in of_store["crawls"]] == [(1, 4), (2, 3)]
    out = shown(capsys, "report", store)
    assert out.startswith(f"{without_secrets(store)}\npages        2 that count, 1 replaced")
    assert "size" not in out


@pytest.mark.slow
def test_reports_and_explanations_are_those_of_a_ledger_without_texts(town, tmp_path, capsys):
    store, site = town
    path, name = tmp_path / "report.html", without_secrets(store)
    assert shown(capsys, "report", store, "-o", path) == f"{path}: 5 pages, 2 groups\n"
    html = path.read_text()
    assert "Duplicates in the ledger (2 crawls)" in html
    assert (name in html, f"{site}/d" in html, "hush" in html) == (True, True, False)
    out = shown(capsys, "explain", f"{site}/c", "--ledger", store)
    assert f"\n{name}\n" in out
    assert "It was stored in run 1 on 20" in out
    assert "it had changed since it was stored before" in out
    for command in (
        ("explain", f"{site}/a", f"{site}/b", "--ledger", store),
        ("evaluate", store, "--sample", 9, "-o", tmp_path / "pairs.tsv"),
    ):
        assert "hush" not in refused(capsys, *command)
    assert not (tmp_path / "pairs.tsv").exists()


COMMANDS = {
    "figures": ["report", "STORE"],
    "explain": ["explain", "http://a/", "http://b/", "--ledger", "STORE"],
    "evaluate": ["evaluate", "STORE", "--sample", "9", "-o", "pairs.tsv"],
    "conversion": ["ledger", "STORE", "-o", "pages.sqlite", "--scope", "host"],
    "move": ["ledger", "pages.sqlite", "-o", "STORE"],
}


def failed(capsys, name, store):
    """What a command says whose store cannot be used."""
    err = refused(capsys, *(store if word == "STORE" else word for word in COMMANDS[name]))
    for secret in ("hush", quote(PASSWORD, ""), "wrong"):
        assert secret not in err.replace("WRONGPASS", "")
    return err


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("in_folder")
def test_a_store_that_cannot_be_used_is_told(name, server, url, capsys, monkeypatch):
    port = free_port()
    nowhere = f"redis://:{quote(PASSWORD, '')}@127.0.0.1:{port}/0"
    told = f"redis://127.0.0.1:{port}/0?namespace=dedup cannot be reached"
    assert told in failed(capsys, name, nowhere)
    wrong = url_of(server, "town", "hush-wrong")
    assert "refuses its user or password" in failed(capsys, name, wrong)
    if name != "move":
        assert "is empty: no crawl has used it" in failed(capsys, name, url)
    with Redis(port=server.port, password=PASSWORD) as client:
        about = {"made_with": json.dumps({"format": 99, "identity": {}})}
        client.hset(f"{{dedup:{url.rpartition('=')[2]}}}:about", mapping=about)
    assert "has a log of format 99" in failed(capsys, name, url)
    monkeypatch.setitem(sys.modules, "dedup.stores.redis_log", None)
    assert "Redis needs: pip install 'scrapy-dedup[redis]'" in failed(capsys, name, url)


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "ftp://:hush@host/pages"],
        ["scan", "pages.jsonl", "-o", "kept.jsonl", "--sketches", "redis://:hush@host/0"],
        ["restore", "dropped.jsonl", "--ledger", "redis://:hush@host/0"],
        ["report", "pages.sqlite", "redis://:hush@host/0"],
        ["evaluate", "--method", "redis://:hush@host/0"],
        ["evaluate", "redis://:hush@host/0", "--lexicon", "-o", "words.tsv"],
        ["explain", "http://a/", "--jso", "redis://:hush@host/0"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("in_folder")
def test_what_takes_no_store_shows_no_password(arguments, tmp_path, capsys):
    try:
        code, out, err = run(capsys, *arguments)
    except SystemExit as end:
        code, (out, err) = end.code, capsys.readouterr()
    assert code == 2
    assert err
    assert "hush" not in out + err
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A ledger of 1,200 pages, of which one has a duplicate."""
    path = tmp_path_factory.mktemp("ledger") / "pages.sqlite"
    with closing(joined(path, IDENTITY)) as store:
        numbers = [add(store, record(number)) for number in range(1200)]
        publish(store)
        store.note_duplicate("http://b/0", numbers[0], "exact-duplicate", 0)
        publish(store)
        leave(store, texts=[("http://a/0", "Title", "A text")])
    return path


def pages_of(path):
    with LedgerReader(path) as reader:
        pages = [page.record for page in reader.pages()]
        return pages, [note.key for note in reader.duplicates()]


def test_a_ledger_is_converted_on_its_way_in_and_out(url, ledger, tmp_path, capsys):
    file = tmp_path / "back.sqlite"
    shown(capsys, "ledger", ledger, "-o", url, "--scope", "host")
    stats = json_of(capsys, "report", url)
    assert (stats["identity"]["scope"], stats["pages"]) == ("host", 1200)
    shown(capsys, "ledger", url, "-o", file, "--scope", "crawl")
    assert pages_of(file) == pages_of(ledger)
    err = refused(capsys, "ledger", url, "-o", tmp_path / "new", "--method", "minhash")
    assert err.startswith(f"{without_secrets(url)} holds the texts of some pages only")
    assert "give the feed with all that were stored (--texts)" in err


def test_a_ledger_that_is_none_is_told_before_anything_is_moved(url, tmp_path, capsys):
    file = tmp_path / "pages.sqlite"
    for content in None, b"no ledger":
        if content:
            file.write_bytes(content)
        assert f"{file} " in refused(capsys, "ledger", file, "-o", url)
    assert "is empty: no crawl has used it" in refused(capsys, "report", url)
