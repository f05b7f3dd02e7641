"""The pages of the demonstration: a town magazine and its mirror."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from crawler.demo.article import Article, load_articles
from crawler.demo.layout import STYLE, WALK, fill, magazine, story, tag_path, words
from crawler.demo.sections import sections

Articles = dict[str, Article]
PRINTED = ("sourdough", "compost", "flood", "tea", "market")
CLASSIC = ("railway", "woodcuts")
MIRRORED = ("swifts", "repair-cafe", "night-bus", "flood", "fish-lanterns", "tea")
IN_SESSION = ("apples", "cinema")
SESSION = ";jsessionid=4F9A21C07B"
LABELLED = ("clock", "winter-sky")  # quiet articles, so the label is the only difference
LABEL = "?sid=77b3e0"
IN_GB18030 = "rice-noodles"
LIST_LENGTH = 5

LEVELS = {"gauge": "Mill Bridge", "unit": "m", "levels": {"Mon": 1.12, "Tue": 1.31, "Wed": 1.24}}
THANKS = "Thank you for your letter. We answer every one by hand."
PRIZE = "Your crossword has arrived; the draw is on Friday."


@dataclass(frozen=True)
class Page:
    """The response of one path; *render* takes the number of the visit, from 1.

    Pages with the same main text share one *content*; it is None where there is nothing to judge.
    """

    path: str
    render: Callable[[int], bytes]
    content: str | None = None
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    location: str | None = None


def pages(url: str, mirror_url: str, edition: int = 1) -> dict[str, Page]:
    """Return the pages of the magazine at *url* by path, which includes the query.

    *edition*: 2 for the magazine of some days later.
    """
    articles = load_articles(edition)
    site = [
        *_articles(articles),
        *_copies(articles),
        *_lists(articles),
        *_notices(articles, mirror_url),
        *_bare_pages(),
        *_failures(articles),
    ]
    return {page.path: page for page in [*site, *_files(articles, url)]}


def mirror_pages(url: str) -> dict[str, Page]:
    """Return the pages of the mirror by path; they link back to the magazine at *url*."""
    all_articles = load_articles()
    articles = [all_articles[slug] for slug in MIRRORED]
    links = "\n".join(
        f'<li><a href="/texts/{article.slug}">{words(article)["title"]}</a></li>'
        for article in articles
    )
    front = fill("mirror-front", links=links)
    site = [
        _constant_page("/", fill("mirror", title="Contents", main=front, url=url), "mirror"),
        Page("/style.css", _constant(STYLE), content_type="text/css; charset=utf-8"),
    ]
    for article in articles:
        parts = words(article)
        html = fill("mirror", title=parts["title"], main=fill("mirror-text", **parts), url=url)
        site.append(_constant_page(f"/texts/{article.slug}", html, article.content))
    return {page.path: page for page in site}


def tutorial_pages(edition: int = 1) -> dict[str, Page]:
    """Return the pages of the shop and of the manual, to which the magazine does not link."""
    return {path: _constant_page(path, html, path) for path, html in sections(edition).items()}


def missing(path: str) -> Page:
    """Return the "not found" page of *path*."""
    return _magazine_page(path, "Not found", fill("missing"), None, status=404)


def _articles(articles: Articles) -> Iterator[Page]:
    """Yield every article and revision in the magazine's layout."""
    for article in articles.values():
        yield _story(article, article.path)


def _copies(articles: Articles) -> Iterator[Page]:
    """Yield articles again: under session ids, for print, in old markup and encoding."""
    for slug in IN_SESSION:
        yield _story(articles[slug], articles[slug].path + SESSION, session=SESSION)
    for slug in LABELLED:
        yield _story(articles[slug], articles[slug].path + LABEL)
    for slug in PRINTED:
        yield _constant_page(f"/print/{slug}.html", fill("print", **words(articles[slug])), slug)
    for slug in CLASSIC:
        yield _constant_page(
            f"/classic/{slug}.html", fill("classic", **words(articles[slug])), slug
        )
    yield _story(articles[IN_GB18030], f"/zh/gb/{IN_GB18030}.html", encoding="gb18030")


def _story(article: Article, path: str, *, session: str = "", encoding: str = "utf-8") -> Page:
    """Return the page of *article* in the magazine."""
    printable = article.slug in PRINTED

    def render(visit: int) -> bytes:
        return story(article, visit, session=session, printable=printable).encode(encoding)

    return Page(path, render, article.content, content_type=f"text/html; charset={encoding}")


def _lists(articles: Articles) -> Iterator[Page]:
    """Yield the archives and the tag pages of both editions."""
    originals = [article for article in articles.values() if article.is_original]
    for language, home, title in (("en", "/", "Archive"), ("zh", "/zh/", "往期文章")):
        edition = [article for article in originals if article.language == language]
        starts = range(0, len(edition), LIST_LENGTH)
        paths = [
            f"{home}archive/",
            *(f"{home}archive/page/{n + 1}/" for n in range(1, len(starts))),
        ]
        pager = " ".join(f'<a href="{path}">{n}</a>' for n, path in enumerate(paths, 1))
        for start, path in zip(starts, paths, strict=True):
            yield _list(path, title, edition[start : start + LIST_LENGTH], pager)
        for tag in sorted({tag for article in edition for tag in article.tags}):
            members = [article for article in edition if tag in article.tags]
            yield _list(tag_path(language, tag), tag.capitalize(), members)
    year = [a for a in originals if a.language == "en" and a.published.year == 2024]
    yield _list("/archive/2024/", "The year 2024", year)


def _list(path: str, title: str, articles: Sequence[Article], pager: str = "") -> Page:
    """Return a page of headlines and leads."""
    teasers = "\n".join(fill("teaser", **words(article)) for article in articles)
    main = fill("list", title=title, teasers=teasers, pager=pager)
    return _magazine_page(path, title, main, path, language=articles[0].language)


def _notices(articles: Articles, mirror_url: str) -> Iterator[Page]:
    """Yield the home pages and what the magazine says about itself."""
    news = {
        slug.replace("-", "_"): fill("teaser", **words(article))
        for slug, article in articles.items()
    }
    elsewhere = fill("elsewhere", mirror_url=mirror_url, label=LABEL, session=SESSION)
    yield _magazine_page("/", "Home", fill("home-en", **news), "home", session=SESSION)
    yield _magazine_page("/zh/", "首页", fill("home-zh", **news), "home-zh", language="zh")
    yield _magazine_page("/about.html", "About us", fill("about"), "about")
    yield _magazine_page("/contact.html", "Contact", fill("contact"), "contact")
    yield _magazine_page("/elsewhere.html", "Where else to read us", elsewhere, "elsewhere")
    yield _magazine_page("/private/editors.html", "For editors", fill("editors"), "editors")


def _bare_pages() -> Iterator[Page]:
    """Yield the pages of one sentence or none."""
    for path, text, content in (
        ("/thanks/letter.html", THANKS, "thanks"),
        ("/thanks/guestbook.html", THANKS, "thanks"),
        ("/thanks/crossword.html", PRIZE, "prize"),
        ("/gallery/", "", "gallery"),
        ("/map/", "", "map"),
    ):
        yield _constant_page(path, fill("bare", path=path, text=text), content)


def _failures(articles: Articles) -> Iterator[Page]:
    """Yield the pages that have moved, were withdrawn or are broken."""
    target = articles["bridge-reopens"].path
    yield Page("/bridge", _constant(b""), status=301, location=target)
    path = "/article/withdrawn.html"
    yield _magazine_page(path, "Withdrawn", fill("withdrawn"), None, status=410)
    yield _magazine_page("/poll/", "Out of order", fill("broken"), None, status=500)


def _files(articles: Articles, url: str) -> Iterator[Page]:
    """Yield what is not HTML."""
    robots = f"User-agent: *\nDisallow: /private/\n\nSitemap: {url}sitemap.xml\n"
    places = "".join(f"<url><loc>{url}{a.path[1:]}</loc></url>" for a in articles.values())
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'
    for path, body, content_type in (
        ("/style.css", STYLE, "text/css; charset=utf-8"),
        ("/robots.txt", robots.encode(), "text/plain; charset=utf-8"),
        ("/sitemap.xml", sitemap.encode(), "application/xml; charset=utf-8"),
        ("/media/walk", WALK, "application/pdf"),
        ("/media/levels.json", json.dumps(LEVELS).encode(), "application/json"),
    ):
        yield Page(path, _constant(body), content_type=content_type)


def _magazine_page(
    path: str,
    title: str,
    main: str,
    content: str | None,
    *,
    language: str = "en",
    session: str = "",
    status: int = 200,
) -> Page:
    """Return a page with *main* in the magazine's frame."""

    def render(visit: int) -> bytes:
        return magazine(title, main, language, visit, session=session).encode()

    return Page(path, render, content, status)


def _constant_page(path: str, html: str, content: str) -> Page:
    """Return a page that is the same at every visit."""
    return Page(path, _constant(html.encode()), content)


def _constant(body: bytes) -> Callable[[int], bytes]:
    return lambda visit: body
