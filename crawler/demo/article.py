"""The articles of the demonstration, read from their data files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

ARTICLES = Path(__file__).parent / "articles"


@dataclass(frozen=True)
class Article:
    """One article; *content* is the slug of the article whose main text it has.

    *names* is the slug of the article that it names as canonical: its own, or that of which it is a
    reprint.
    """

    slug: str
    content: str
    names: str
    title: str
    lead: str
    author: str
    published: date
    language: str
    tags: tuple[str, ...]
    quiet: bool  # without advertisements, counter and date: the same bytes at every visit
    paragraphs: tuple[str, ...]
    comments: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path of the article in the magazine."""
        return self._path_of(self.slug)

    @property
    def canonical(self) -> str:
        """The path that its pages name as canonical."""
        return self._path_of(self.names)

    def _path_of(self, slug: str) -> str:
        return f"{'' if self.language == 'en' else '/zh'}/article/{slug}.html"

    @property
    def is_original(self) -> bool:
        """Whether this is the first version of its content."""
        return self.slug == self.content


def load_articles(edition: int = 1) -> dict[str, Article]:
    """Return every article by slug, the newest first and revisions after the originals.

    Edition 2 adds articles, and corrects some under their slug.
    """
    sources = {path.stem: _source(path) for path in sorted(ARTICLES.glob("*.txt"))}
    corrections: dict[str, tuple[dict[str, str], list[str]]] = {}
    for path in sorted((ARTICLES / "second").glob("*.txt")) if edition == 2 else ():
        into = corrections if path.stem in sources else sources
        into[path.stem] = _source(path)
    originals = [
        _original(slug, fields, blocks)
        for slug, (fields, blocks) in sources.items()
        if "of" not in fields
    ]
    articles = {
        article.slug: article
        for article in sorted(originals, key=lambda article: article.published, reverse=True)
    }
    for slug, (fields, blocks) in sources.items():
        if "of" in fields:
            articles[slug] = _revision(slug, articles[fields["of"]], fields, blocks)
    for slug, (fields, blocks) in corrections.items():
        articles[slug] = _revision(slug, articles[slug], fields, blocks)
    return articles


def _source(path: Path) -> tuple[dict[str, str], list[str]]:
    """Split a data file into its front matter and the blocks after it."""
    head, *blocks = path.read_text("utf-8").strip().split("\n\n")
    return dict(line.split(": ", 1) for line in head.splitlines()), blocks


def _original(slug: str, fields: dict[str, str], blocks: list[str]) -> Article:
    """Return the article of a data file; blocks that start with ``>`` are comments."""
    return Article(
        slug=slug,
        content=slug,
        names=slug,
        title=fields["title"],
        lead=fields["lead"],
        author=fields["author"],
        published=date.fromisoformat(fields["date"]),
        language=fields["language"],
        tags=tuple(fields["tags"].split(", ")),
        quiet="quiet" in fields,
        paragraphs=tuple(block for block in blocks if not block.startswith(">")),
        comments=tuple(block.lstrip("> ") for block in blocks if block.startswith(">")),
    )


def _revision(slug: str, original: Article, fields: dict[str, str], edits: list[str]) -> Article:
    """Return *original* with another headline and lead, and each ``old => new`` edit applied."""
    text = "\n\n".join(original.paragraphs)
    for edit in edits:
        old, new = edit.split(" => ")
        text = text.replace(old, new)
    return replace(
        original,
        slug=slug,
        names=fields.get("canonical", slug),
        title=fields.get("title", original.title),
        lead=fields.get("lead", original.lead),
        paragraphs=tuple(text.split("\n\n")),
        comments=(),
    )
