"""The dialects of embedding servers: how each is asked for vectors, and where they stand in its answer. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote


class OddAnswerError(ValueError):
    """An answer in which there are no vectors to be found; says what is there in their place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a server is asked for."""

    texts: list[str]
    model: str = ""
    dimensions: int = 0
    """How many numbers a vector is to have; 0 leaves that to the model."""
    query: bool = False
    """Whether the texts are questions, which some models embed otherwise than what answers them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAi:
    """What OpenAI speaks, and most others do too."""

    name: str
    address: str = ""
    model: str = ""
    """The model that is asked for when none is named."""

    def url(self, base: str, model: str) -> str:
        """Where questions go, given the address of the API."""
        return f"{base.rstrip('/').removesuffix('/embeddings')}/embeddings"

    def credentials(self, key: str) -> dict[str, str]:
        """The header that shows the key."""
        return {"Authorization": f"Bearer {key}"}

    def body(self, ask: Ask) -> dict[str, Any]:
        """The question."""
        model = {"model": ask.model} if ask.model else {}
        return {"input": ask.texts, **model, **self._options(ask)}

    def _options(self, ask: Ask) -> dict[str, Any]:
        return {"dimensions": ask.dimensions} if ask.dimensions else {}

    def vectors(self, answer: Any, count: int) -> list[Any]:
        """What an answer has for each of `count` texts, in order; OddAnswerError where it has no such thing."""
        items = _objects(answer, "data", count)
        places = [item.get("index") for item in items]
        if all(place is None for place in places):
            return [item.get("embedding") for item in items]
        by_place = {place: item for place, item in zip(places, items, strict=True) if type(place) is int}
        if set(by_place) != set(range(len(items))):
            raise OddAnswerError("vectors whose numbering does not fit the texts")
        return [by_place[place].get("embedding") for place in range(len(items))]


class Voyage(OpenAi):
    """Like OpenAI's, but for what the vectors are for and how long they are to be."""

    __slots__ = ()

    def _options(self, ask: Ask) -> dict[str, Any]:
        size = {"output_dimension": ask.dimensions} if ask.dimensions else {}
        return {"input_type": "query" if ask.query else "document", **size}


class Gemini(OpenAi):
    """Google's own, in which each text is a request and the key has a header of its own."""

    __slots__ = ()

    def url(self, base: str, model: str) -> str:
        return f"{base.rstrip('/')}/models/{quote(_bare(model), safe='')}:batchEmbedContents"

    def credentials(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def body(self, ask: Ask) -> dict[str, Any]:
        model = f"models/{_bare(ask.model)}"
        return {
            "requests": [
                {"model": model, "content": {"parts": [{"text": text}]}, **self._options(ask)} for text in ask.texts
            ]
        }

    def _options(self, ask: Ask) -> dict[str, Any]:
        size = {"outputDimensionality": ask.dimensions} if ask.dimensions else {}
        return {"taskType": "RETRIEVAL_QUERY" if ask.query else "RETRIEVAL_DOCUMENT", **size}

    def vectors(self, answer: Any, count: int) -> list[Any]:
        return [item.get("values") for item in _objects(answer, "embeddings", count)]


ANY = OpenAi(name="http")
DIALECTS = {
    each.name: each
    for each in (
        ANY,
        OpenAi(name="openai", address="https://api.openai.com/v1", model="text-embedding-3-small"),
        Voyage(name="voyage", address="https://api.voyageai.com/v1", model="voyage-4-large"),
        Gemini(
            name="gemini",
            address="https://generativelanguage.googleapis.com/v1beta",
            model="gemini-embedding-001",
        ),
    )
}
"""Every provider behind a network, by the name it has in `embedding.provider`."""


def _objects(answer: Any, name: str, count: int) -> list[dict[str, Any]]:
    items = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise OddAnswerError("no list of vectors")
    if len(items) != count:
        raise OddAnswerError(f"{len(items)} vectors for {count} texts")
    return items


def _bare(model: str) -> str:
    return model.removeprefix("models/")
