"""What every embedder promises, and the identity by which its vectors are told from those of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memfolio.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which embedder made a vector; vectors of two identities cannot be compared."""

    provider: str
    model: str
    dimension: int
    fingerprint: str
    """Tells two models apart that go by one name; hexadecimal."""
    slack: int = 0
    """How many bits of the fingerprint may differ, for servers that do not answer alike to the last digit."""

    @property
    def text(self) -> str:
        """The identity as one line, the same in every process: what an index stores."""
        return f"{self.provider}/{self.model}/{self.dimension}/{self.fingerprint}"

    def __str__(self) -> str:
        return self.text

    def matches(self, stored: str) -> bool:
        """Whether vectors stored under that text can be compared with the ones this embedder makes."""
        name, _, fingerprint = stored.rpartition("/")
        if name != self.text.rpartition("/")[0] or len(fingerprint) != len(self.fingerprint):
            return False
        return fingerprint == self.fingerprint or _differing_bits(fingerprint, self.fingerprint) <= self.slack


def _differing_bits(one: str, other: str) -> int:
    """How many bits of two hexadecimal numbers differ; more than any slack where one is no such number."""
    try:
        return (int(one, 16) ^ int(other, 16)).bit_count()
    except ValueError:
        return 4 * len(one)


class UnfinishedError(EmbedderError):
    """What keeps an embedder from going on after a part of the texts; `rows` are the vectors of the first ones."""

    def __init__(self, message: str, *, hint: str = "", rows: NDArray[np.float32]) -> None:
        super().__init__(message, hint=hint)
        self.rows = rows


class Embedder(Protocol):
    """Turns texts into vectors whose angles say how close the texts are in meaning. Threads may share one.

    Creating one loads nothing and connects to nothing. What goes wrong later is an EmbedderError with a hint.
    """

    @property
    def name(self) -> str:
        """What a person calls it: its provider, as in `embedding.provider`."""

    @property
    def is_costly(self) -> bool:
        """Whether every call costs money or a way through the network, so that vectors are worth keeping."""

    @property
    def identity(self) -> Identity:
        """Who it is; finding out may read files or ask the server once."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """One row of unit length for each text, in order; zeros for a text in which there is nothing to embed.

        With `query`, the texts are questions: some models embed these otherwise than what answers them.
        A text's row does not depend on the texts beside it, as far as that is up to the embedder.
        """
