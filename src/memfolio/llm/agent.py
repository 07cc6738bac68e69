"""One question to a model through pydantic-ai. Imported only when something is asked: it takes about a second."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

import httpx2
from pydantic import TypeAdapter
from pydantic_ai import Agent, ModelHTTPError, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from memfolio.llm.clean import cleaned
from memfolio.llm.failure import in_words, settled
from memfolio.llm.gate import PLACEHOLDER, open_client
from memfolio.llm.provider import Endpoint, Question

T = TypeVar("T")

MAX_ANSWER = 16_000
"""Tokens that a model may answer with, what it thinks before included."""
LONGEST_WAIT = 5.0
"""Seconds after which a busy server may ask to come back, and is waited for."""

_WAIT = 0.5


def answer_to(question: Question[T], pay: Callable[[int], None], timeout: float) -> T:
    """The model's answer; every failure is a ModelError."""
    try:
        return cleaned(asyncio.run(_in_time(question, pay, timeout)))
    except Exception as error:  # three libraries lie between, and whoever asks knows only ModelError
        raise in_words(error, question.endpoint, timeout) from error


async def _in_time(question: Question[T], pay: Callable[[int], None], timeout: float) -> T:
    async with asyncio.timeout(timeout), open_client(question.endpoint, pay) as client:
        model = _model(question.endpoint, client)
        *ways, last = _ways(question.endpoint.provider, question.answer)
        for way in ways:
            try:
                return await _ask_patiently(model, way, question)
            except ModelHTTPError as error:
                if error.status_code not in (400, 422):  # what a server says that knows no schemas
                    raise
        return await _ask_patiently(model, last, question)


async def _ask_patiently(model: Model, way: Any, question: Question[T]) -> T:
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
    """Whether what is wrong may be over in a moment."""
    if isinstance(error, ModelHTTPError):
        return error.status_code == 429 or error.status_code >= 500
    return isinstance(error, ModelConnectionError)


async def _ask(model: Model, way: Any, question: Question[T]) -> T:
    instructions = question.instructions if isinstance(way, ToolOutput) else _with_schema(question)
    agent = Agent(model, output_type=way, instructions=instructions, retries={"output": 1}, name="memfolio")
    result = await agent.run(question.material, model_settings=ModelSettings(max_tokens=MAX_ANSWER))
    output: T = result.output
    return output


def _with_schema(question: Question[T]) -> str:
    """What to do and in which form, in one message: many servers take no second one of the system's."""
    schema = json.dumps(TypeAdapter(question.answer).json_schema())
    return f"{question.instructions}\n\nAnswer with one JSON object of this schema and nothing else:\n{schema}"


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
