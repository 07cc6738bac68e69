"""A language model as the rest of memfolio knows it: it is asked for a value of a type, and may fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from memfolio.config import Config
from memfolio.embed.http import Spending, spending
from memfolio.embed.post import in_time, key_trouble, may_have_key
from memfolio.errors import ModelError
from memfolio.llm.prompt import cut, fenced, fresh_mark, is_grounded
from memfolio.redact.redactor import Redactor
from memfolio.settings import MODEL_VARIABLES
from memfolio.text import estimate_tokens
from memfolio.types import frozen

T = TypeVar("T")


class Model(Protocol):
    """A language model. What it answers is data: it is validated, and whoever asked decides what becomes of it."""

    name: str

    def ask(self, task: str, material: str, answer: type[T]) -> T:
        """An `answer` (a dataclass) to a task about some material; raises ModelError where there is no valid one.

        The material is what others wrote: it is fenced, and nothing in it is an instruction.
        """


INSTALL = 'pip install "memfolio[model]"'
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
}
"""Gemini is asked in OpenAI's dialect, which it speaks there: its own library would triple what is installed."""


@frozen
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
        is_missing, variable = not self.key and not self.url, MODEL_VARIABLES[self.provider]
        is_kept = not may_have_key(self.address, ADDRESSES[self.provider], is_own=self.url_is_own) and bool(self.key)
        if trouble := key_trouble("MODEL", self.address, variable, is_missing=is_missing, is_kept=is_kept):
            raise ModelError(trouble[0], hint=trouble[1])


@frozen
class ModelQuestion(Generic[T]):
    """Whom to ask, what to do (`instructions`), with which fenced material, and the type of the answer."""

    endpoint: Endpoint
    instructions: str
    material: str
    answer: type[T]


MAX_MATERIAL = 24_000
"""Tokens of material that are sent with one question."""

_GRACE = 1.0
_DATA = Path(__file__).parent / "data"


def _template(name: str) -> str:
    """The words of an instruction, with names in braces for what is filled in."""
    return (_DATA / name).read_text(encoding="utf-8").rstrip("\n")


class ServedModel:
    """Asks a server, one question at a time and each for itself; threads may share it.

    A question has `timeout` seconds for everything, a second try where the server is busy included. `budget` is how
    many tokens this process sends to the model in a day, by an estimate; 0 is no limit. What is sent goes through
    `clean` first.
    """

    def __init__(
        self, endpoint: Endpoint, *, timeout: float = 60.0, budget: int = 0, clean: Callable[[str], str] = str
    ) -> None:
        self.name = f"{endpoint.provider}:{endpoint.model}"
        self._endpoint = endpoint
        self._timeout = timeout
        self._limit = budget
        self._clean = clean
        self._spending: Spending = spending(endpoint.address, endpoint.model)

    def ask(self, task: str, material: str, answer: type[T]) -> T:
        self._endpoint.check()
        self._pay(0)
        answer_to = _door()
        mark = fresh_mark()
        question = ModelQuestion(
            endpoint=self._endpoint,
            instructions=_template("rules.txt").format(mark=mark, task=self._clean(task)),
            material=fenced(cut(self._clean(material), self._most), mark),
            answer=answer,
        )
        # In a thread, it may run an event loop even where whoever asks runs one already.
        return in_time(lambda: answer_to(question, self._pay, self._timeout), self._timeout + _GRACE, self._late)

    def _late(self) -> ModelError:
        return ModelError(f"{self.name} did not answer in time", hint="check model.url and the network")

    def _pay(self, tokens: int) -> None:
        """Count what a request sends; ModelError where the day's budget has no room for it."""
        with self._spending.lock:
            spent = self._spending.spent
            if self._limit and spent + max(tokens, 1) > self._limit:
                raise ModelError(
                    f"the model budget is used up: {spent:,} of {self._limit:,} tokens are spent, and the next "
                    f"question has {tokens:,}",
                    hint="wait until tomorrow, or raise model.budget",
                )
            self._spending.add(tokens)

    @property
    def _most(self) -> int:
        """Tokens of material for one question: half of a day's at most, so that the rest of it fits as well."""
        return min(MAX_MATERIAL, self._limit // 2) if self._limit else MAX_MATERIAL


def _door() -> Callable[[ModelQuestion[T], Callable[[int], None], float], T]:
    """What asks; loading it takes about a second, the first time."""
    try:
        from memfolio.llm.agent import answer_to
    except ImportError as error:
        raise ModelError(f"the package {error.name} is not installed", hint=INSTALL) from error
    return answer_to


# Which language model a home uses.


def open_model(config: Config) -> Model | None:
    """The language model that the configuration asks for; None where there is to be none, as by default.

    Loads nothing and connects to nothing: what is missing or does not answer is a ModelError when it is asked.
    """
    if config.model.provider == "none":
        return None
    endpoint = Endpoint(
        provider=config.model.provider,
        model=config.model.name,
        url=config.model.url,
        url_is_own=config.model.url_is_own,
        key=config.model.key,
    )
    clean = Redactor(config.redact).clean
    return ServedModel(endpoint, timeout=config.model.timeout, budget=config.model.budget, clean=clean)


# One text in place of several.

_SENTENCE = re.compile(r".+?(?:[.!?]+(?:\s+|$)|[。！？]+|$)")
_HINT = "try again, or use a model that follows instructions better"


@frozen
class Summary:
    """What a model is asked for."""

    text: str


def sum_up(model: Model, texts: Sequence[str], limit_tokens: int) -> str:
    """A summary of texts in their language, of at most so many tokens; ModelError where there is none.

    Sentences that say something else than the texts are left out; of a longer one the first sentences are kept.
    """
    material = "\n".join(f"- {' '.join(text.split())}" for text in texts if text.strip())
    if not material:
        raise ModelError("there is nothing to sum up", hint="give texts with words in them")
    words = max(5, limit_tokens // 2)
    answer = " ".join(model.ask(_template("sum_up.txt").format(words=words), material, Summary).text.split())
    text = _fitting([each for each in _SENTENCE.findall(answer) if is_grounded(each, material)], limit_tokens)
    if not text:
        raise ModelError(f"{model.name} gave a summary that has nothing of what was to be summed up", hint=_HINT)
    return text


def _fitting(sentences: Sequence[str], limit: int) -> str:
    """The first sentences of a text, as many as fit."""
    kept = ""
    for sentence in sentences:
        if estimate_tokens(kept + sentence.rstrip()) > limit:
            break
        kept += sentence
    return kept.strip()
