"""How far the main text of a page can be trusted, and what else tells its page from others."""

from dedup.evidence.evidence import (
    SIZE_OF_EVIDENCE,
    VIEW,
    Evidence,
    Weakness,
    digest_of_name,
    digest_of_title,
    digest_of_view,
    segments_of,
    split_title,
)
from dedup.evidence.objection import (
    DEMANDS,
    NORMAL,
    Demands,
    KnownNames,
    Names,
    Objection,
    Witness,
    names_agree,
)
from dedup.evidence.visible_text import VisibleText

__all__ = [
    "DEMANDS",
    "NORMAL",
    "SIZE_OF_EVIDENCE",
    "VIEW",
    "Demands",
    "Evidence",
    "KnownNames",
    "Names",
    "Objection",
    "VisibleText",
    "Weakness",
    "Witness",
    "digest_of_name",
    "digest_of_title",
    "digest_of_view",
    "names_agree",
    "segments_of",
    "split_title",
]
