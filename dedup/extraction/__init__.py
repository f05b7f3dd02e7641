"""HTML -> main text, title and language."""

from dedup.extraction.extractors import (
    EXTRACTORS,
    Extraction,
    Extractor,
    evidence_reader,
    language_of_text,
    parse,
    resiliparse,
    text_of_fragment,
    trafilatura,
)

__all__ = [
    "EXTRACTORS",
    "Extraction",
    "Extractor",
    "evidence_reader",
    "language_of_text",
    "parse",
    "resiliparse",
    "text_of_fragment",
    "trafilatura",
]
