"""The layout of the magazine: its templates, and the parts that change with every visit."""

from __future__ import annotations

from datetime import date
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import quote

from crawler.demo.article import Article

FOLDER = Path(__file__).parent / "templates"
TEMPLATES = {path.stem: Template(path.read_text("utf-8")) for path in FOLDER.glob("*.html")}
STYLE = (FOLDER / "style.css").read_bytes()
WALK = (FOLDER / "walk.pdf").read_bytes()

TODAY = {"en": "{0.day} {0:%B} {0.year}", "zh": "{0.year}年{0.month}月{0.day}日"}
READS = {"en": "This page has been read {:,} times.", "zh": "本页已被阅读 {:,} 次。"}
PRINT = {"en": "Print this article", "zh": "打印本文"}
COMMENTS = {"en": "Comments", "zh": "读者留言"}
ADVERTISEMENTS = {
    "en": (
        ("Harbottle & Daughters", "Winter boots resoled while you wait. Corn Street 12."),
        ("Wend Valley Bicycles", "Free brake check with every new chain until Sunday."),
        ("The Copper Kettle", "Two scones, one pot of tea, six pounds. Closed on Mondays."),
        ("Piano lessons", "Patient teacher, all ages, first half-hour free. Ring 0142."),
    ),
    "zh": (
        ("老周修伞铺", "换骨补面，立等可取。南门桥头第三家。"),
        ("溪畔客栈", "冬季住两晚送一晚，推窗就是水。"),
        ("春和布庄", "新到蓝印花布，量体裁衣，不收手工费。"),
    ),
}


def fill(template: str, **values: str) -> str:
    """Return the template of that name with its placeholders filled in."""
    return TEMPLATES[template].substitute(values)


def words(article: Article) -> dict[str, str]:
    """Return the parts of *article* as HTML, for any template of articles."""
    return {
        "path": article.path,
        "canonical": article.canonical,
        "language": article.language,
        "title": escape(article.title),
        "lead": escape(article.lead),
        "author": escape(article.author),
        "published": article.published.isoformat(),
        "text": "\n".join(_paragraphs(article)),
    }


def story(article: Article, visit: int, *, session: str = "", printable: bool = False) -> str:
    """Return the page of *article* in the magazine, at the *visit*-th visit."""
    language = article.language
    paragraphs = _paragraphs(article)
    if not article.quiet:
        paragraphs.insert(3, _advertisement(language, visit + 1))
    main = fill(
        "story",
        **words(article) | {"text": "\n".join(paragraphs)},
        tags=" ".join(
            f'<a href="{tag_path(language, tag)}" rel="tag">{tag}</a>' for tag in article.tags
        ),
        tools=f'<a href="/print/{article.slug}.html">{PRINT[language]}</a>' if printable else "",
        heading=COMMENTS[language],
        comments="\n".join(f"<li>{escape(comment)}</li>" for comment in article.comments),
    )
    return magazine(
        article.title,
        main,
        language,
        0 if article.quiet else visit,
        session=session,
        canonical=article.canonical,
    )


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
        today=TODAY[language].format(date.today()) if visit else "",
        reads=READS[language].format(1200 + visit) if visit else "",
        advertisement=_advertisement(language, visit) if visit else "",
    )


def tag_path(language: str, tag: str) -> str:
    """Return the path of the page that lists the articles with *tag*."""
    return quote(f"{'' if language == 'en' else '/zh'}/tag/{tag}/")


def _paragraphs(article: Article) -> list[str]:
    # dir="auto": one article quotes Arabic and Hebrew
    return [f'<p dir="auto">{escape(text)}</p>' for text in article.paragraphs]


def _advertisement(language: str, visit: int) -> str:
    """Return the advertisement for this visit."""
    choice = ADVERTISEMENTS[language]
    name, text = choice[visit % len(choice)]
    return fill("advertisement", name=escape(name), message=escape(text))
