"""The interface of a near-duplicate method."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from dedup.text import Document


class Method(ABC):
    """Reduces a page to a sketch, and says how far apart two sketches may be to match.

    A sketch is equal in every process and on every platform, so that it can be kept. (It may change
    with characters that a newer Python or regex knows and an older one does not.)
    """

    name: ClassVar[str]
    """The short name that settings, verdicts and reports use."""

    version: ClassVar[int]
    """Changes whenever the sketches of equal texts would."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What, besides name and version, decides which pages match."""

    @abstractmethod
    def sketch(self, document: Document) -> Any | None:
        """Return the sketch of *document*, or ``None`` if it has too little content to have one."""

    @abstractmethod
    def to_bytes(self, sketch: Any) -> bytes:
        """Return *sketch* as bytes for storage."""

    @abstractmethod
    def from_bytes(self, data: bytes) -> Any:
        """Return the sketch that `to_bytes` stored."""


class FingerprintMethod(Method):
    """A method whose sketch is a fingerprint of 64 bits, compared by Hamming distance."""

    bits: ClassVar[int] = 64

    def __init__(self, max_distance: int = 3) -> None:
        """Create the method with the inclusive threshold *max_distance*, from 0 to 63 bits.

        Raises ValueError if *max_distance* is outside that range.
        """
        if not (isinstance(max_distance, int) and 0 <= max_distance < self.bits):
            raise ValueError(
                f"max_distance must be from 0 to {self.bits - 1}, got {max_distance!r}"
            )
        self.max_distance = max_distance

    @property
    def parameters(self) -> dict[str, Any]:
        return {"max_distance": self.max_distance}

    @abstractmethod
    def sketch(self, document: Document) -> int | None: ...

    def to_bytes(self, sketch: int) -> bytes:
        return sketch.to_bytes(self.bits // 8, "little")

    def from_bytes(self, data: bytes) -> int:
        return int.from_bytes(data, "little")
