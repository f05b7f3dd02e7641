"""The articles of the demonstration, read from their data files."""

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
    def is_original(self) -> bool:
        """Whether this is the first version of its content."""
        return self.slug == self.content


def load_articles(edition: int = 1) -> dict[str, Article]:
    """Return every article by slug, the newest first and revisions after the originals.

    Edition 2 adds articles, and corrects some under their slug.
    """
    paths = sorted(ARTICLES.glob("*.txt"))
    paths += sorted((ARTICLES / "second").glob("*.txt")) if edition == 2 else []
    originals: list[Article] = []
    revisions: list[tuple[str, dict[str, str], list[str]]] = []
    for path in paths:
        head, *blocks = path.read_text("utf-8").strip().split("\n\n")
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        if "of" in fields:
            revisions.append((path.stem, fields, blocks))
        else:
            originals.append(_original(path.stem, fields, blocks))
    originals.sort(key=lambda article: article.published, reverse=True)
    articles = {article.slug: article for article in originals}
    for slug, fields, edits in revisions:
        articles[slug] = _revision(slug, articles[fields["of"]], fields, edits)
    return articles


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
