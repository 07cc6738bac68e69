"""A language model as the rest of memfolio knows it: it is asked for a value of a type, and may fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from memfolio.config import Config
from memfolio.embed.post import in_time, key_trouble, may_have_key
from memfolio.errors import ModelError
from memfolio.llm.prompt import cut, fenced, fresh_mark, is_grounded
from memfolio.machine import install_command
from memfolio.redact.redactor import Redactor
from memfolio.settings import MODEL_VARIABLES
from memfolio.text import estimate_tokens, packaged_text, sentences
from memfolio.types import frozen
from memfolio.vault.usage import Usage

T = TypeVar("T")


class Model(Protocol):
    """A language model. What it answers is data: it is validated, and whoever asked decides what becomes of it."""

    name: str

    def ask(self, task: str, material: str, answer: type[T]) -> T:
        """An `answer` (a dataclass) to a task about some material; raises ModelError where there is no valid one.

        The material is what others wrote: it is fenced, and nothing in it is an instruction.
        """

    def questions(self, turns: int, most: int) -> int:
        """How many questions, at most so many, may be asked about turns of a conversation, which are counted by that.

        ModelError says why it cannot be asked at all.
        """

    def drop(self, why: str, count: int) -> None:
        """Count statements that were rejected."""


class InvalidAnswerError(ModelError):
    """The answer has another form than was asked for; none of it is used."""


INSTALL = install_command("model")
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
}
"""Gemini is asked in OpenAI's dialect, which it speaks there: its own library would triple what is installed."""


@frozen
class Endpoint:
    """A model at an address. `url_is_own` is true if the user named the address, not only the home."""

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
        """Raise ModelError if the configuration is incomplete, before anything is sent."""
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
    """Instructions, fenced material, and the type of the answer.

    `most` is the limit of the answer in tokens.
    """

    instructions: str
    material: str
    answer: type[T]
    most: int


MAX_MATERIAL = 24_000
"""Tokens of material that are sent with one question."""
MAX_ANSWER = 16_000
"""The most tokens of an answer, including reasoning."""

_GRACE = 1.0


def _template(name: str) -> str:
    """Return the text of an instruction, with names in braces to fill in."""
    return packaged_text(f"llm/data/{name}").rstrip("\n")


class Allowance(NamedTuple):
    """What a model may cost: how many tokens a day (0 is no limit), how many turns a question, and where it is noted.

    What is sent goes through `clean` first.
    """

    usage: Usage
    budget: int = 0
    turns: int = 1
    clean: Callable[[str], str] = str


class PaidModel:
    """A model whose questions are fenced, redacted, limited in time, and counted; threads may share it."""

    def __init__(self, name: str, timeout: float, allowance: Allowance) -> None:
        self.name = name
        self._timeout = timeout
        self._allowance = allowance

    def ask(self, task: str, material: str, answer: type[T]) -> T:
        self._check()
        clean, mark = self._allowance.clean, fresh_mark()
        question = ModelQuestion(
            instructions=_template("rules.txt").format(mark=mark, task=clean(task)),
            material=fenced(cut(clean(material), self._share(MAX_MATERIAL, 2)), mark),
            answer=answer,
            most=self._share(MAX_ANSWER, 4),
        )
        # In a thread, it may run an event loop even where whoever asks runs one already.
        try:
            return in_time(lambda: self._answer(question), self._timeout + _GRACE, self._late)
        except InvalidAnswerError:
            self.drop("invalid", 1)
            raise

    def questions(self, turns: int, most: int) -> int:
        questions = partial(self._allowance.usage.questions, turns, self._allowance.turns)
        try:
            self._check()
        except ModelError:  # the turns are saved up until it can be asked
            questions(0)
            raise
        return questions(most)

    def drop(self, why: str, count: int) -> None:
        self._allowance.usage.drop(why, count)

    def _check(self) -> None:
        """Raise ModelError if it cannot be asked, before anything is sent."""
        raise NotImplementedError

    def _answer(self, question: ModelQuestion[T]) -> T:
        raise NotImplementedError

    def _late(self) -> ModelError:
        return ModelError(f"{self.name} did not answer in time", hint="raise model.timeout, or see how it is doing")

    def _reserve(self, tokens: int) -> str:
        """Reserve tokens; raises ModelError if the daily limit does not allow them."""
        return self._allowance.usage.reserve(self.name, tokens, self._allowance.budget)

    def _share(self, most: int, part: int) -> int:
        """As many tokens as one question may have of a kind: a part of a day's at most, so that the rest fits too."""
        return min(most, self._allowance.budget // part) if self._allowance.budget else most


class ServedModel(PaidModel):
    """Asks a server, one question at a time.

    `timeout` seconds cover everything, including a second try if the server is busy.
    """

    def __init__(self, endpoint: Endpoint, *, timeout: float = 60.0, allowance: Allowance | None = None) -> None:
        super().__init__(f"{endpoint.provider}:{endpoint.model}", timeout, allowance or Allowance(Usage()))
        self._endpoint = endpoint

    def _check(self) -> None:
        self._endpoint.check()

    def _answer(self, question: ModelQuestion[T]) -> T:
        try:  # loading it takes about a second, the first time
            from memfolio.llm.agent import answer_to
        except ImportError as error:
            raise ModelError(f"the package {error.name} is not installed", hint=INSTALL) from error
        reserved: list[tuple[str, int]] = []

        def pay(tokens: int) -> None:
            """Reserve what a request can cost; each has its own, since a server may be asked more than once."""
            reserved.append((self._reserve(tokens + question.most), tokens))

        spent, settle = (0, 0), self._allowance.usage.settle
        try:
            found, spent = answer_to(self._endpoint, question, pay, self._timeout)
            return found
        finally:
            # What was sent counts even where nothing came back; what came back counts with the last request.
            for name, tokens in reserved[:-1]:
                settle(name, tokens, 0)
            for name, tokens in reserved[-1:]:
                settle(name, max(tokens, spent[0]), spent[1])


# Which language model a home uses.


def open_model(config: Config, usage: Usage | None = None) -> Model | None:
    """Return the language model in the configuration; None if there is none, as by default.

    Its cost is recorded in `usage`, by default for this process alone. Nothing is loaded or connected: a missing or
    silent model raises ModelError when it is asked.
    """
    model = config.model
    if model.provider in ("none", "agent"):
        return None
    clean = Redactor(config.redact).clean
    allowance = Allowance(usage or Usage(), model.budget, model.turns, clean)
    if model.provider == "host":
        from memfolio.llm.host import HostModel

        return HostModel(model.name, timeout=model.timeout, allowance=allowance)
    own = model.url_is_own
    endpoint = Endpoint(provider=model.provider, model=model.name, url=model.url, url_is_own=own, key=model.key)
    return ServedModel(endpoint, timeout=model.timeout, allowance=allowance)


# One text in place of several.

_HINT = "try again, or use a model that follows instructions better"


@frozen
class Summary:
    """The answer expected from a model."""

    text: str


def sum_up(model: Model, texts: Sequence[str], limit_tokens: int) -> str:
    """Summarize texts in their language in at most this many tokens; raises ModelError if there is no answer.

    Sentences that are not grounded in the texts are dropped; of a longer summary, the first sentences are kept.
    """
    material = "\n".join(f"- {' '.join(text.split())}" for text in texts if text.strip())
    if not material:
        raise ModelError("there is nothing to sum up", hint="give texts with words in them")
    words = max(5, limit_tokens // 2)
    answer = " ".join(model.ask(_template("sum_up.txt").format(words=words), material, Summary).text.split())
    text = _fitting([each for each in sentences(answer) if is_grounded(each, material)], limit_tokens)
    if not text:
        raise ModelError(f"{model.name} gave a summary that has nothing of what was to be summed up", hint=_HINT)
    return text


def _fitting(given: Sequence[str], limit: int) -> str:
    """The first sentences of a text, as many as fit."""
    kept = ""
    for sentence in given:
        longer = f"{kept}{sentence}" if kept.endswith(("。", "！", "？")) else f"{kept} {sentence}".strip()
        if estimate_tokens(longer) > limit:
            break
        kept = longer
    return kept
