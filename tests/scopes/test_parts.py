import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from dedup.scopes import crawl, domain, host, language


@pytest.mark.parametrize(
    "url", ["https://a.example/x", "", "not a url", "http://[broken", "mailto:a@b.example"]
)
def test_the_whole_crawl_is_one_scope(url):
    assert crawl(url) == ""


@each(
    ("url", "name"),
    [
        ("https://WWW.Example.com/A", "www.example.com"),
        ("https://www.example.com:8080/", "www.example.com:8080"),
        ("http://user:p@ss@example.com/", "example.com"),
        ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
        ("http://[2001:DB8::1]:8080/", "[2001:db8::1]:8080"),
        ("http://例子.测试/", "例子.测试"),
        ("data:text/html,x", ""),
        ("not a url", ""),
        ("http://[broken", ""),
        ("", ""),
    ],
)
def test_a_host_has_its_port_and_no_user(url, name):
    assert host(url) == name


@each(
    ("url", "name"),
    [
        ("https://docs.example.com/", "example.com"),
        ("https://example.com", "example.com"),
        ("https://A.B.Example.CO.UK:8080/", "example.co.uk"),
        ("https://news.sina.com.cn/", "sina.com.cn"),
        ("https://someone.github.io/", "github.io"),  # private suffixes are domains like others
        ("http://user@www.example.org:80/", "example.org"),
        ("http://127.0.0.1:8080/", "127.0.0.1"),
        ("http://localhost:6800/", "localhost"),
        ("http://[2001:DB8::1]:8080/", "2001:db8::1"),
        ("http://com/", "com"),
        ("http://[broken", ""),
        ("", ""),
    ],
)
def test_a_domain_is_what_somebody_registered(url, name):
    assert domain(url) == name


@pytest.mark.parametrize("port", ["", ":80", ":8080"])
@pytest.mark.parametrize("address", ["example.com", "127.0.0.1", "[::1]"])
def test_the_port_does_not_change_the_domain(address, port):
    assert domain(f"http://{address}{port}/") == domain(f"http://{address}/")


@pytest.mark.slow
def test_domains_are_known_without_network_and_cache():
    script = (
        "import socket, os\n"
        "def refuse(*args, **kwargs): raise AssertionError('network')\n"
        "socket.socket.connect = refuse\n"
        "os.makedirs = refuse\n"
        "from dedup.scopes import domain\n"
        "print(domain('https://a.example.co.jp/'))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert (run.stdout, run.stderr) == ("example.co.jp\n", "")


def test_the_language_of_a_page_that_says_too_much_is_cut():
    assert [language(name) for name in ("klingonish", "Ænglisc", " de ", "")] == [
        "klingoni", "nglisc", "de", "",
    ]  # fmt: skip


@given(
    st.lists(st.sampled_from(["http:", "x:", "/", "//", "@", ":80", "?", "#", "\t", "a", "B.c"]))
)
def test_the_host_is_the_same_whatever_follows_it(parts):
    url = "".join(parts)
    try:
        name = urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        name = ""
    assert host(url) in (name, name.removesuffix(":80"), name.removesuffix(":"))
