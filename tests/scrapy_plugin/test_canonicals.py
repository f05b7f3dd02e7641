"""Pages that name another one as their canonical page give way to it, where that is true."""

import pytest
from crawls import crawl_site, follow_links, path_of
from scrapy import Request
from scrapy.exceptions import DropItem
from texts import article, edited, page
from web import Answer

from dedup.scrapy_plugin.awaiting import wait_for_call

TEXT, OTHER = article(1), article(2)
COPY = edited(TEXT)
WAITED = "dedup/canonicals/waited"


def moved(path: str) -> Answer:
    return Answer(b"", 301, headers={"Location": path})


def naming(url: str, text: str = TEXT, **options) -> str:
    """A page with *text* that names *url* as its canonical page."""
    html = page(text, **options)
    return html.replace("<head>", f'<head><link rel="canonical" href="{url}">')


def run(site, *paths, **options):
    """A crawl over *paths*, one after the other."""
    options = {"DEDUP_PREFER": ["canonical"], "limits": {"WAIT_TIMEOUT": 20}, **options}
    result = crawl_site(site, *paths, **options)
    assert "dedup/errors" not in result.stats
    assert "log_count/ERROR" not in result.stats
    return result


def test_a_canonical_page_that_ends_just_after_a_look_is_not_waited_for_again(monkeypatch):
    looks = []

    async def look(seconds, subscribe):
        looks.append(seconds)
        await wait_for_call(10, subscribe)
        return False  # the time was over, and the call came before anybody went on

    monkeypatch.setattr("dedup.scrapy_plugin.canonicals.wait_for_call", look)
    site = {"/print": naming("/tea"), "/tea": naming("/tea"), "/other": page(OTHER)}
    assert set(run(site, *site, limits={"WAIT_TIMEOUT": 10}).stored) == {"/tea", "/other"}
    assert len(looks) == 1


@pytest.mark.parametrize("text", [TEXT, COPY])
def test_a_page_gives_way_to_its_canonical_page_which_it_waits_for(text):
    result = run({"/print": naming("/tea", text), "/tea": naming("/tea")}, "/print", "/tea")
    assert result.stored == ["/tea"]
    assert result.originals == {"/print": "/tea"}
    assert result.stats[WAITED] == 1


def test_a_canonical_page_that_nobody_requests_is_not_waited_for():
    result = run({"/print": naming("/tea"), "/tea": naming("/tea")}, "/print")
    assert (result.stored, len(result.fetched)) == (["/print"], 1)
    assert WAITED not in result.stats


@pytest.mark.parametrize("text", [TEXT, COPY])
@pytest.mark.parametrize("order", [("/tea", "/reprint"), ("/reprint", "/tea")])
def test_a_reprint_with_a_title_of_its_own_gives_way_to_the_page_that_it_names(text, order):
    site = {"/reprint": naming("/tea", text, title="A cup"), "/tea": page(TEXT, title="Tea")}
    result = run(site, *order)
    assert result.stored == ["/tea"]
    assert result.originals["/reprint"] == "/tea"
    assert [result.stats[f"dedup/{name}"] for name in ("new", "near_duplicates")] == [1, 1]


@pytest.mark.parametrize("order", [("/tea", "/print"), ("/print", "/tea")])
def test_a_copy_that_is_named_by_its_own_url_gives_way_to_the_page_that_it_names(order):
    site = {"/tea": naming("/tea", f"Tea. {TEXT}"), "/print": naming("/tea", f"Print. {TEXT}")}
    result = run(site, *order)
    assert (result.stored, result.originals) == (["/tea"], {"/print": "/tea"})
    alone = run({path: page(f"{path[1:]}. {TEXT}") for path in site}, *order)
    assert sorted(alone.stored) == ["/print", "/tea"]


def test_a_link_header_names_it_too():
    pdf = Answer(b"%PDF of tea", content_type="application/pdf")
    copy = Answer(pdf.body, 200, pdf.content_type, {"Link": '</tea.pdf>; rel="canonical"'})
    result = run({"/1": copy, "/tea.pdf": pdf}, "/1", "/tea.pdf")
    assert result.stored == ["/tea.pdf"]


PRINT, TEA = {"/print": naming("/tea")}, {"/tea": page(TEXT)}
BLUE = {"/blue": page(TEXT, title="Blue")}
SHORT = article(1, 40)
RED = naming("/blue", SHORT.replace("lantern", "light"), title="Red")
ROBOTS = Answer(b"User-agent: *\nDisallow: /tea", content_type="text/plain")


def not_wanted(*paths):
    class Storage:
        def process_item(self, item):
            if item["url"].endswith(paths):
                raise DropItem("not wanted")
            return item

    return {"ITEM_PIPELINES": {Storage: 300}}


def without_item_of_tea(self, response):
    if not response.url.endswith("/tea"):
        yield {"url": response.url}


def breaking_on_tea(self, response):
    if response.url.endswith("/tea"):
        raise LookupError("no tea")
    yield {"url": response.url}


async def start_offsite(self):
    for url in self.start_urls:
        yield Request(url, meta={"allow_offsite": url.endswith("/print")})


# What that page is which a page names that is kept, the site, in the order of its requests, and
# what is stored; all of it, if nothing is said.
KEPT = {
    "missing": ({**PRINT, "/tea": Answer(b"", 404)}, ["/print"]),
    "another content": ({**PRINT, "/tea": page(OTHER)}, None),
    "another title, and a short text": ({"/red": RED, "/blue": page(SHORT, title="Blue")}, None),
    "the home page, with another title": (
        {"/": page(TEXT, title="Blue"), "/red": naming("/", COPY, title="Red")},
        None,
    ),
    "what many with other titles name": (
        {f"/{number}": naming("/0", COPY, title=f"Colour {number}") for number in range(7)},
        ["/0", "/3", "/4", "/5", "/6"],
    ),
    "no match, and what matches has another title": (
        {**BLUE, "/green": page(OTHER, title="Green"), "/red": naming("/green", COPY, title="Red")},
        None,
    ),
    "a copy itself, with another title": (
        {**BLUE, "/also": page(TEXT, title="Blue"), "/red": naming("/also", COPY, title="Red")},
        ["/blue", "/red"],
    ),
    "a redirect to the page": ({**PRINT, "/tea": moved("/print")}, ["/print"]),
    "a redirect to a page which is dropped": (
        {**PRINT, "/tea": moved("/new"), "/new": page(TEXT)},
        ["/print"],
    ),
    "on another host": ({"/print": naming("http://elsewhere.example/tea")}, None),
}


@pytest.mark.parametrize("what", KEPT)
def test_a_page_is_kept_if_the_one_that_it_names_is(what):
    site, stored = KEPT[what]
    result = run(site, *site)
    assert sorted(result.stored) == sorted(site if stored is None else stored)


NOT_STORED = {
    "forbidden by robots.txt": {"ROBOTSTXT_OBEY": True},
    "off the site": {"allowed_domains": ["elsewhere.example"], "start": start_offsite},
    "without an item": {"parse": without_item_of_tea},
    "dropped by a pipeline": not_wanted("/tea"),
    "with a callback that raises": {"parse": breaking_on_tea},
}


@pytest.mark.parametrize("why", NOT_STORED)
def test_a_page_is_kept_if_the_one_that_it_names_is_not_fetched_or_stored(why):
    site = {"/robots.txt": ROBOTS, **PRINT, **TEA}
    result = crawl_site(site, *PRINT, *TEA, DEDUP_PREFER=["canonical"], **NOT_STORED[why])
    assert result.stored == ["/print"]
    assert "dedup/errors" not in result.stats
    assert ("log_count/ERROR" in result.stats) == why.endswith("raises")


def test_a_page_is_kept_with_its_title_if_the_one_that_it_names_is_not_stored():
    site = {**BLUE, "/red": naming("/blue", COPY, title="Red")}
    site["/green"] = page(COPY.replace("lantern", "light"), title="Green")
    result = run(site, *site, **not_wanted("/blue"))
    assert sorted(result.stored) == ["/green", "/red"]


def test_of_a_chain_the_end_is_kept_where_it_is_on_its_way():
    site = {
        "/": page(OTHER, "/c", "/b", "/a"),  # the last one is fetched first
        "/a": naming("/b", COPY),
        "/b": naming("/c", edited(TEXT, "differently")),
        "/c": page(TEXT),
    }
    result = run(site, "/", parse=follow_links)
    assert result.stored == ["/", "/c"]
    assert list(map(path_of, result.fetched)) == ["/", "/a", "/b", "/c"]


@pytest.mark.parametrize("length", [1, 3])
def test_pages_that_name_each_other_lose_nothing_and_do_not_wait(length):
    names = [f"/{number}" for number in range(length)]
    followers = [*names[1:], names[0]]
    site = {name: naming(other) for name, other in zip(names, followers, strict=True)}
    result = run(site, *names, CONCURRENT_REQUESTS=8)
    assert len(result.stored) == 1
    assert len(result.dropped) == length - 1
    assert result.stats["elapsed_time_seconds"] < 10


@pytest.mark.slow
def test_a_page_does_not_wait_longer_than_the_setting_says():
    site = {**PRINT, **TEA}
    result = run(site, *site, limits={"WAIT_TIMEOUT": 0})
    assert (result.stored, WAITED in result.stats) == (["/print"], False)
    result = run(site, *site, limits={"WAIT_TIMEOUT": 0.3}, DOWNLOAD_DELAY=1.2)
    assert result.stored == ["/print"]
    assert result.originals == {"/tea": "/print"}
    assert result.stats["dedup/canonicals/late"] == 1


@pytest.mark.slow
def test_a_crawl_that_is_closed_does_not_wait():
    options = {"DOWNLOAD_DELAY": 60, "CLOSESPIDER_PAGECOUNT": 1, "limits": {"WAIT_TIMEOUT": 100}}
    result = run({**PRINT, **TEA}, "/print", "/tea", **options)
    assert result.stored == ["/print"]
    assert result.stats["elapsed_time_seconds"] < 30


MANY = {f"/{number}": naming("/tea", article(number, 60)) for number in range(100, 180)}


def many(self, response):
    """The callback of a page that leads to many, and at last to what they name as canonical."""
    yield {"url": response.url}
    if response.url.endswith("/"):
        yield response.follow("/tea", priority=-1)
        yield from response.follow_all(MANY)


@pytest.mark.slow
def test_so_many_pages_wait_or_half_the_memory_of_the_scraper_and_no_more():
    """Those that come then are stored; the crawl goes on, and ends."""
    site = {"/": page(OTHER), "/tea": page(TEXT), **MANY}
    result = run(site, "/", parse=many, CONCURRENT_REQUESTS=8)
    assert len(result.stored) == len(site)
    # 64 at a time: on a busy machine, one that gives up its place makes room for another.
    assert 64 <= result.stats[WAITED] < len(MANY)
    assert result.stored.index("/tea") > 10  # it comes after those that did not wait
    memory = 40 * 1024  # as Scrapy counts a small page
    result = run(site, "/", parse=many, CONCURRENT_REQUESTS=8, SCRAPER_SLOT_MAX_ACTIVE_SIZE=memory)
    assert len(result.stored) == len(site)
    assert 5 <= result.stats[WAITED] <= 20
