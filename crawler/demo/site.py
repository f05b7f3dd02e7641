"""The pages of the demonstration: a town magazine, its mirror, a shop and a manual."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crawler.demo.article import Article, load_articles
from crawler.demo.layout import (
    LANGUAGES,
    STYLE,
    WALK,
    article_path,
    fill,
    magazine,
    path_in,
    story,
    tag_path,
    words,
)

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
    site = [*_articles(articles), *_lists(list(articles.values()))]
    site += [*_notices(articles, mirror_url), *_bare_pages(), *_files(articles, url)]
    return {page.path: page for page in site}


def mirror_pages(url: str) -> dict[str, Page]:
    """Return the pages of the mirror by path; they link back to the magazine at *url*."""
    articles = load_articles()
    links, texts = [], []
    for slug in MIRRORED:
        parts, path = words(articles[slug]), f"/texts/{slug}"
        html = fill("mirror", title=parts["title"], main=fill("mirror-text", **parts), url=url)
        links.append(f'<li><a href="{path}">{parts["title"]}</a></li>')
        texts.append(_constant(path, html, slug))
    front = fill("mirror-front", links="\n".join(links))
    site = [
        _constant("/", fill("mirror", title="Contents", main=front, url=url), "mirror"),
        _file("/style.css", STYLE, "text/css; charset=utf-8"),
        *texts,
    ]
    return {page.path: page for page in site}


def tutorial_pages(edition: int = 1) -> dict[str, Page]:
    """Return the pages of a shop and of a manual, to which the magazine does not link.

    In edition 2, a lamp is cheaper.
    """
    sections = json.loads((Path(__file__).parent / "sections.json").read_text("utf-8"))
    links = "\n".join(
        f'<li><a class="lamp" href="/shop/{path}">{name}</a></li>'
        for path, (name, _, _) in sections["shop"].items()
    )
    html = {"/shop/": fill("lamps", links=links)}
    for path, (name, price, text) in sections["shop"].items():
        price = "99 EUR" if path == "floor" and edition == 2 else price
        html[f"/shop/{path}"] = fill("lamp", name=name, price=price, text=text)
    titles = {path: path.split("/") for path in sections["manual"]}
    links = " ".join(
        f'<a href="/manual/{path}">{name} {version}</a>' for path, (version, name) in titles.items()
    )
    for path, (version, name) in titles.items():
        text = "\n".join(f"<p>{paragraph}</p>" for paragraph in sections["manual"][path])
        html[f"/manual/{path}"] = fill(
            "manual", title=name.capitalize(), version=version, links=links, text=text
        )
    return {path: _constant(path, text, path) for path, text in html.items()}


def missing(path: str) -> Page:
    """Return the "not found" page of *path*."""
    return _framed(path, "Not found", fill("missing"), None, status=404)


def _articles(articles: dict[str, Article]) -> Iterator[Page]:
    """Yield the articles, and some again: under session ids, for print, in another encoding."""
    for article in articles.values():
        yield _story(article, article_path(article))
    for slug in IN_SESSION:
        yield _story(articles[slug], article_path(articles[slug]) + SESSION, session=SESSION)
    for slug in LABELLED:
        yield _story(articles[slug], article_path(articles[slug]) + LABEL)
    for template, slugs in (("print", PRINTED), ("classic", CLASSIC)):
        for slug in slugs:
            html = fill(template, **words(articles[slug]))
            yield _constant(f"/{template}/{slug}.html", html, slug)
    yield _story(articles[IN_GB18030], f"/zh/gb/{IN_GB18030}.html", encoding="gb18030")


def _story(article: Article, path: str, *, session: str = "", encoding: str = "utf-8") -> Page:
    """Return the page of *article* in the magazine."""
    printable = article.slug in PRINTED

    def render(visit: int) -> bytes:
        return story(article, visit, session=session, printable=printable).encode(encoding)

    return Page(path, render, article.content, content_type=f"text/html; charset={encoding}")


def _lists(articles: list[Article]) -> Iterator[Page]:
    """Yield the archives and the tag pages of both languages."""
    for language, its in LANGUAGES.items():
        originals = [a for a in articles if a.is_original and a.language == language]
        starts = range(0, len(originals), LIST_LENGTH)
        archive = path_in(language, "archive/")
        paths = [archive, *(f"{archive}page/{n}/" for n in range(2, len(starts) + 1))]
        pager = " ".join(f'<a href="{path}">{n}</a>' for n, path in enumerate(paths, 1))
        for start, path in zip(starts, paths, strict=True):
            yield _list(path, its["archive"], originals[start : start + LIST_LENGTH], pager)
        for tag in sorted({tag for article in originals for tag in article.tags}):
            members = [article for article in originals if tag in article.tags]
            yield _list(tag_path(language, tag), tag.capitalize(), members)
        if language == "en":
            year = [article for article in originals if article.published.year == 2024]
            yield _list("/archive/2024/", "The year 2024", year)


def _list(path: str, title: str, articles: Sequence[Article], pager: str = "") -> Page:
    """Return a page of headlines and leads."""
    teasers = "\n".join(fill("teaser", **words(article)) for article in articles)
    main = fill("list", title=title, teasers=teasers, pager=pager)
    return _framed(path, title, main, path, language=articles[0].language)


def _notices(articles: dict[str, Article], mirror_url: str) -> Iterator[Page]:
    """Yield the home pages, what the magazine says about itself, and what went wrong."""
    news = {
        slug.replace("-", "_"): fill("teaser", **words(article))
        for slug, article in articles.items()
    }
    elsewhere = fill("elsewhere", mirror_url=mirror_url, label=LABEL, session=SESSION)
    yield _framed("/", "Home", fill("home-en", **news), "home", session=SESSION)
    yield _framed("/zh/", "首页", fill("home-zh", **news), "home-zh", language="zh")
    yield _framed("/about.html", "About us", fill("about"), "about")
    yield _framed("/contact.html", "Contact", fill("contact"), "contact")
    yield _framed("/elsewhere.html", "Where else to read us", elsewhere, "elsewhere")
    yield _framed("/private/editors.html", "For editors", fill("editors"), "editors")
    yield _framed("/article/withdrawn.html", "Withdrawn", fill("withdrawn"), None, status=410)
    yield _framed("/poll/", "Out of order", fill("broken"), None, status=500)
    target = article_path(articles["bridge-reopens"])
    yield Page("/bridge", lambda visit: b"", status=301, location=target)


def _bare_pages() -> Iterator[Page]:
    """Yield the pages of one sentence or none."""
    thanks = "Thank you for your letter. We answer every one by hand."
    prize = "Your crossword has arrived; the draw is on Friday."
    for path, text, content in (
        ("/thanks/letter.html", thanks, "thanks"),
        ("/thanks/guestbook.html", thanks, "thanks"),
        ("/thanks/crossword.html", prize, "prize"),
        ("/gallery/", "", "gallery"),
        ("/map/", "", "map"),
    ):
        yield _constant(path, fill("bare", path=path, text=text), content)


def _files(articles: dict[str, Article], url: str) -> Iterator[Page]:
    """Yield what is not HTML."""
    robots = f"User-agent: *\nDisallow: /private/\n\nSitemap: {url}sitemap.xml\n"
    places = (f"<url><loc>{url}{article_path(a)[1:]}</loc></url>" for a in articles.values())
    schema = "http://www.sitemaps.org/schemas/sitemap/0.9"
    sitemap = f'<urlset xmlns="{schema}">{"".join(places)}</urlset>'
    yield _file("/style.css", STYLE, "text/css; charset=utf-8")
    yield _file("/robots.txt", robots.encode(), "text/plain; charset=utf-8")
    yield _file("/sitemap.xml", sitemap.encode(), "application/xml; charset=utf-8")
    yield _file("/media/walk", WALK, "application/pdf")
    yield _file("/media/levels.json", json.dumps(LEVELS).encode(), "application/json")


def _framed(
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


def _constant(path: str, html: str, content: str) -> Page:
    """Return a page that is the same at every visit."""
    return Page(path, lambda visit: html.encode(), content)


def _file(path: str, body: bytes, content_type: str) -> Page:
    return Page(path, lambda visit: body, content_type=content_type)
