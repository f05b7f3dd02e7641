"""URLs that people read still lead to their page."""

from urllib.parse import quote, unquote

from cases import each
from hypothesis import given
from hypothesis import strategies as st

from dedup.readable_url import readable_url


@each(
    ("url", "shown"),
    [
        ("http://a/%E7%B1%B3%e7%b2%89?q=%E8%8C%B6", "http://a/米粉?q=茶"),
        ("http://a/caf%C3%A9%20%2F%23%25", "http://a/café%20%2F%23%25"),
        ("http://a/%E7%B1", "http://a/%E7%B1"),  # half a character
        ("http://a/%C4%E3", "http://a/%C4%E3"),  # another encoding
        ("http://a/%E2%80%AEgnp", "http://a/%E2%80%AEgnp"),  # turns the direction of writing
        ("http://a/%E3%80%80%ED%A0%80", "http://a/%E3%80%80%ED%A0%80"),
        ("%", "%"),
        ("", ""),
    ],
)
def test_letters_are_shown_and_everything_else_stays_escaped(url, shown):
    assert readable_url(url) == shown


@given(st.text())
def test_it_leads_to_the_same_page(text):
    text = text.encode("utf-8", "ignore").decode()
    url = f"http://a/{quote(text)}"
    assert quote(readable_url(url), safe="/:%") == url
    assert unquote(readable_url(url)) == unquote(url)
