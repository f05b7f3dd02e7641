"""The layout of the magazine: its templates, and the parts that change with every visit."""

import json
from datetime import date
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from crawler.demo.article import Article

FOLDER = Path(__file__).parent / "templates"
TEMPLATES = {path.stem: Template(path.read_text("utf-8")) for path in FOLDER.glob("*.html")}
STYLE = (FOLDER / "style.css").read_bytes()
WALK = (FOLDER / "walk.pdf").read_bytes()
LANGUAGES: dict[str, dict[str, Any]] = json.loads(
    (FOLDER.parent / "languages.json").read_text("utf-8")
)


def fill(template: str, **values: str) -> str:
    """Return the template of that name with its placeholders filled in."""
    return TEMPLATES[template].substitute(values)


def path_in(language: str, rest: str) -> str:
    """Return the path of *rest* in the magazine of that language."""
    return f"{LANGUAGES[language]['prefix']}/{rest}"


def article_path(article: Article) -> str:
    return path_in(article.language, f"article/{article.slug}.html")


def tag_path(language: str, tag: str) -> str:
    """Return the path of the page that lists the articles with *tag*."""
    return quote(path_in(language, f"tag/{tag}/"))


def words(article: Article) -> dict[str, str]:
    """Return the parts of *article* as HTML, for any template of articles."""
    return {
        "path": article_path(article),
        "canonical": path_in(article.language, f"article/{article.names}.html"),
        "language": article.language,
        "title": escape(article.title),
        "lead": escape(article.lead),
        "author": escape(article.author),
        "published": article.published.isoformat(),
        "text": "\n".join(_paragraphs(article)),
    }


def story(article: Article, visit: int, *, session: str = "", printable: bool = False) -> str:
    """Return the page of *article* in the magazine, at the *visit*-th visit."""
    language, parts, paragraphs = article.language, words(article), _paragraphs(article)
    if not article.quiet:
        paragraphs.insert(3, _advertisement(language, visit + 1))
    tags = (f'<a href="{tag_path(language, t)}" rel="tag">{t}</a>' for t in article.tags)
    tools = f'<a href="/print/{article.slug}.html">{LANGUAGES[language]["print"]}</a>'
    main = fill(
        "story",
        **parts | {"text": "\n".join(paragraphs)},
        tags=" ".join(tags),
        tools=tools if printable else "",
        heading=LANGUAGES[language]["comments"],
        comments="\n".join(f"<li>{escape(comment)}</li>" for comment in article.comments),
    )
    visit = 0 if article.quiet else visit
    canonical = parts["canonical"]
    return magazine(article.title, main, language, visit, session=session, canonical=canonical)


def magazine(
    title: str, main: str, language: str, visit: int, *, session: str = "", canonical: str = ""
) -> str:
    """Return *main* between the magazine's header, sidebar and footer.

    *canonical*: the path that the page names as its canonical one, if any.

    A *visit* of 0 stands for every visit: no date, no counter, no advertisement.
    """
    return fill(
        f"magazine-{language}",
        title=escape(title),
        main=main,
        session=session,
        canonical=f'<link rel="canonical" href="{canonical}">\n' if canonical else "",
        today=LANGUAGES[language]["today"].format(date.today()) if visit else "",
        reads=LANGUAGES[language]["reads"].format(1200 + visit) if visit else "",
        advertisement=_advertisement(language, visit) if visit else "",
    )


def _paragraphs(article: Article) -> list[str]:
    # dir="auto": one article quotes Arabic and Hebrew
    return [f'<p dir="auto">{escape(text)}</p>' for text in article.paragraphs]


def _advertisement(language: str, visit: int) -> str:
    """Return the advertisement for this visit."""
    choice = LANGUAGES[language]["advertisements"]
    name, text = choice[visit % len(choice)]
    return fill("advertisement", name=escape(name), message=escape(text))
