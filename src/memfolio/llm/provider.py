"""Who can be asked, and what: where each provider is, how it wants to be shown a key, and one question to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memfolio.embed.post import is_loopback
from memfolio.errors import ModelError
from memfolio.settings import MODEL_VARIABLES

T = TypeVar("T")
INSTALL = 'pip install "memfolio[model]"'
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
}
"""Gemini is asked in OpenAI's dialect, which it speaks there: its own library would triple what is installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model at an address. `url_is_own` tells that the user named the address, not only the home."""

    provider: str
    model: str
    url: str = ""
    url_is_own: bool = True
    key: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        return self.url.rstrip("/") or ADDRESSES[self.provider]

    @property
    def credentials(self) -> dict[str, str]:
        """The headers that show the key."""
        if not self.key:
            return {}
        return {"x-api-key": self.key} if self.provider == "anthropic" else {"authorization": f"Bearer {self.key}"}

    def check(self) -> None:
        """Raise ModelError where it cannot be asked as it is configured, so that nothing is sent."""
        if not self.model:
            raise ModelError(
                f'model.provider is "{self.provider}", but there is no model.name',
                hint="set it to the name of a model that the provider has",
            )
        if not self.key and not self.url:
            variable = MODEL_VARIABLES[self.provider]
            raise ModelError(
                f"{self.address} needs a key, and {variable} is not set",
                hint=f"set {variable} or MEMFOLIO_MODEL_KEY in the environment",
            )
        if self.key and not self._may_have_key:
            raise ModelError(
                f"the key is not sent to {self.address}, an address that only the home names",
                hint="set MEMFOLIO_MODEL_URL to it in the environment as well, if the key is meant for it",
            )

    @property
    def _may_have_key(self) -> bool:
        """Whether the address is the provider's, the user's or this machine's: a home may be somebody else's."""
        return self.url_is_own or self.address == ADDRESSES[self.provider] or is_loopback(self.address)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[T]):
    """Whom to ask, what to do (`instructions`), with which fenced material, and the type of the answer."""

    endpoint: Endpoint
    instructions: str
    material: str
    answer: type[T]
