"""How far the main text of a page can be trusted, and what else tells its page from others."""

from dedup.evidence.evidence import (
    NAMES,
    SIZE_OF_EVIDENCE,
    VIEW,
    Evidence,
    Weakness,
    digest_of_name,
)
from dedup.evidence.names import Names
from dedup.evidence.objection import (
    DEMANDS,
    NORMAL,
    Demands,
    Objection,
    names_differ,
    objection,
)
from dedup.evidence.visible_text import evidence_of

__all__ = [
    "DEMANDS",
    "NAMES",
    "NORMAL",
    "SIZE_OF_EVIDENCE",
    "VIEW",
    "Demands",
    "Evidence",
    "Names",
    "Objection",
    "Weakness",
    "digest_of_name",
    "evidence_of",
    "names_differ",
    "objection",
]
