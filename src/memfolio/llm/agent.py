"""One question to a model through pydantic-ai. Imported only when something is asked: it takes about a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

import httpx2
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    UnexpectedModelBehavior,
)
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from memfolio.embed.post import is_loopback
from memfolio.errors import ModelError
from memfolio.llm.model import INSTALL, Endpoint, InvalidAnswerError, ModelQuestion
from memfolio.llm.prompt import cleaned, with_schema
from memfolio.text import estimate_tokens, printable

# What every request to a model passes: it goes to the one address, shows only our key, and is paid for.
#
# The libraries behind the door read keys, headers and addresses from the environment. What they add is taken off
# here.

MAX_BYTES = 4 * 1024 * 1024
"""How much of an answer is read."""
PLACEHOLDER = "none"
"""The key that libraries get; the real one is added in this module only."""

_HEADERS = frozenset("host content-type content-length anthropic-version anthropic-beta connection".split())


def open_client(endpoint: Endpoint, pay: Callable[[int], None]) -> httpx2.AsyncClient:
    """Return an HTTP client for one endpoint; `pay` gets the tokens of each request, and may refuse it by raising.

    It uses the machine's proxy, except for the machine itself.
    """
    host = httpx2.URL(endpoint.address).host

    async def leave(request: httpx2.Request) -> None:
        if request.url.host != host:
            raise ModelError(
                f"{request.url.host} is not asked: model.url is {endpoint.address}", hint="check model.url"
            )
        for name in set(request.headers) - _HEADERS:
            del request.headers[name]
        request.headers.update(
            {"accept": "application/json", "accept-encoding": "identity", "user-agent": "memfolio"}
            | endpoint.credentials
        )
        pay(estimate_tokens(request.content.decode("utf-8", "replace")))

    async def enter(response: httpx2.Response) -> None:
        if 300 <= response.status_code < 400:
            raise ModelError(
                f"{endpoint.address} answered {response.status_code}, a redirect, which is not followed",
                hint="put the address that it leads to into model.url",
            )
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ModelError(f"{endpoint.address} answered with packed data", hint="check model.url")
        response.stream = _Capped(response.stream, endpoint.address)

    return httpx2.AsyncClient(
        follow_redirects=False,
        trust_env=not is_loopback(endpoint.address),
        timeout=None,  # one limit for the whole answer is set where it is asked for
        event_hooks={"request": [leave], "response": [enter]},
    )


class _Capped(httpx2.AsyncByteStream):
    """A body of which no more than `MAX_BYTES` are read, whatever the server says its length is."""

    def __init__(self, stream: object, address: str) -> None:
        assert isinstance(stream, httpx2.AsyncByteStream)
        self._stream = stream
        self._address = address

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for block in self._stream:
            size += len(block)
            if size > MAX_BYTES:
                raise ModelError(f"{self._address} answered with more than {MAX_BYTES:,} bytes", hint="check model.url")
            yield block

    async def aclose(self) -> None:
        await self._stream.aclose()


# What went wrong with a question, in words.

_MOST_SAID = 200
_MOST_OF_KEY = 8
_ANOTHER = "try again, or use a model that gives structured answers"


def in_words(error: Exception, endpoint: Endpoint, timeout: float) -> ModelError:
    """Translate another error to a ModelError."""
    if known := settled(error):
        return ModelError(known.message, hint=known.hint)
    where = f"{endpoint.model} at {endpoint.address}"
    match error:
        case TimeoutError():
            return ModelError(
                f"{where} did not answer within {timeout:g} seconds",
                hint="see how the server is doing, or raise model.timeout",
            )
        case ImportError():
            return ModelError(f"what {endpoint.provider} needs is not installed: {error.name}", hint=INSTALL)
        case ModelHTTPError():
            return _refused(error, endpoint)
        case ModelConnectionError():
            return ModelError(f"{where} cannot be reached", hint="start the server, or check model.url")
        case ContentFilterError():
            return ModelError(f"{where} refused to answer", hint="nothing is to be done: the rules go on without it")
        case ModelAPIError():
            return ModelError(f"{where} did not answer with JSON", hint="check model.url: it often ends in /v1")
        case UnexpectedModelBehavior():
            return InvalidAnswerError(f"{where} did not answer with what was asked for", hint=_ANOTHER)
    return InvalidAnswerError(f"{where} gave an answer that cannot be used: {type(error).__name__}", hint=_ANOTHER)


def settled(error: BaseException) -> ModelError | None:
    """The ModelError behind an error of the libraries, which they wrap: nothing is gained by asking again."""
    return next((each for each in _causes(error) if isinstance(each, ModelError)), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _refused(error: ModelHTTPError, endpoint: Endpoint) -> ModelError:
    status = error.status_code
    if status in (401, 403):
        return ModelError(
            f"{endpoint.address} answered {status}: the key is missing or not accepted",
            hint="set MEMFOLIO_MODEL_KEY in the environment",
        )
    message = f"{endpoint.address} answered {status}{_said(error.body, endpoint.key)}"
    is_busy = status == 429 or status >= 500
    return ModelError(message, hint="try again later" if is_busy else "check model.url, model.name and the key")


def _said(body: object, key: str) -> str:
    """Return the server's error message as one short line, unless it contains a part of the key."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else inner
    if not isinstance(said, str) or _shares(said, key):
        return ""
    return f": {printable(said)[:_MOST_SAID]}"


def _shares(said: str, key: str) -> bool:
    """Whether a text contains the key, or enough of it to guess the rest."""
    size = min(len(key), _MOST_OF_KEY)
    return any(key[at : at + size] in said for at in range(len(key) - size + 1)) if key else False


T = TypeVar("T")

LONGEST_WAIT = 5.0
"""Seconds after which a busy server may ask to come back, and is waited for."""

_WAIT = 0.5


Answered = tuple[T, tuple[int, int]]
"""An answer, and the tokens that went in and came out for it."""


def answer_to(
    endpoint: Endpoint, question: ModelQuestion[T], pay: Callable[[int], None], timeout: float
) -> Answered[T]:
    """Return the model's answer and its cost; every failure is a ModelError."""
    try:
        found, spent = asyncio.run(_in_time(endpoint, question, pay, timeout))
        return cleaned(found), spent
    except Exception as error:  # three libraries lie between, and whoever asks knows only ModelError
        raise in_words(error, endpoint, timeout) from error


async def _in_time(
    endpoint: Endpoint, question: ModelQuestion[T], pay: Callable[[int], None], timeout: float
) -> Answered[T]:
    async with asyncio.timeout(timeout), open_client(endpoint, pay) as client:
        model = _model(endpoint, client)
        *ways, last = _ways(endpoint.provider, question.answer)
        for way in ways:
            try:
                return await _ask_patiently(model, way, question)
            except ModelHTTPError as error:
                if error.status_code not in (400, 422):  # what a server says that knows no schemas
                    raise
        return await _ask_patiently(model, last, question)


async def _ask_patiently(model: Model, way: Any, question: ModelQuestion[T]) -> Answered[T]:
    """Ask, and once more where the server is busy or the connection broke."""
    try:
        return await _ask(model, way, question)
    except ModelAPIError as error:
        wait = max(error.retry_after or 0.0, _WAIT)
        if not _passes(error) or wait > LONGEST_WAIT or settled(error):
            raise
    await asyncio.sleep(wait)
    return await _ask(model, way, question)


def _passes(error: ModelAPIError) -> bool:
    """Whether the error may be temporary."""
    if isinstance(error, ModelHTTPError):
        return error.status_code == 429 or error.status_code >= 500
    return isinstance(error, ModelConnectionError)


async def _ask(model: Model, way: Any, question: ModelQuestion[T]) -> Answered[T]:
    instructions = question.instructions if isinstance(way, ToolOutput) else with_schema(question)
    agent = Agent(model, output_type=way, instructions=instructions, retries={"output": 1}, name="memfolio")
    result = await agent.run(question.material, model_settings=ModelSettings(max_tokens=question.most))
    output: T = result.output
    return output, (result.usage.input_tokens, result.usage.output_tokens)


def _ways(provider: str, answer: type[T]) -> tuple[Any, ...]:
    """How to have the answer given in a form: as the argument of a tool, by a schema, or by asking for it."""
    if provider == "anthropic":
        return (ToolOutput(answer),)
    return NativeOutput(answer, strict=True, template=False), PromptedOutput(answer, template=False)


def _model(endpoint: Endpoint, client: httpx2.AsyncClient) -> Model:
    if endpoint.provider == "anthropic":
        return _anthropic(endpoint, client)
    from openai import AsyncOpenAI

    sdk = AsyncOpenAI(api_key=PLACEHOLDER, base_url=endpoint.address, http_client=client, max_retries=0)
    profile = OpenAIModelProfile(
        supports_json_schema_output=True,
        supports_json_object_output=False,
        openai_chat_supports_max_completion_tokens=endpoint.provider == "openai" and not endpoint.url,
    )
    return OpenAIChatModel(endpoint.model, provider=OpenAIProvider(openai_client=sdk), profile=profile)


def _anthropic(endpoint: Endpoint, client: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    sdk = AsyncAnthropic(api_key=PLACEHOLDER, base_url=endpoint.address, http_client=client, max_retries=0)
    return AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=sdk))
