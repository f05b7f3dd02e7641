"""How far the main text of a page can be trusted, and what else tells its page from others."""

from dedup.evidence.evidence import NAMES, SIZE_OF_EVIDENCE, VIEW, Evidence, Weakness
from dedup.evidence.names import Names
from dedup.evidence.objection import DEMANDS, NORMAL, STRICT, Demands, Objection, objection
from dedup.evidence.visible_text import evidence_of

__all__ = [
    "DEMANDS",
    "NAMES",
    "NORMAL",
    "SIZE_OF_EVIDENCE",
    "STRICT",
    "VIEW",
    "Demands",
    "Evidence",
    "Names",
    "Objection",
    "Weakness",
    "evidence_of",
    "objection",
]
