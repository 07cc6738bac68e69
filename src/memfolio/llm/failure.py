"""What went wrong with a question, in words."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    UnexpectedModelBehavior,
)

from memfolio.errors import ModelError
from memfolio.llm.provider import INSTALL, Endpoint

_MOST_SAID = 200
_MOST_OF_KEY = 8
_ANOTHER = "try again, or use a model that gives structured answers"


def in_words(error: Exception, endpoint: Endpoint, timeout: float) -> ModelError:
    """The ModelError that says what another error means."""
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
            return ModelError(f"{where} did not answer with what was asked for", hint=_ANOTHER)
    return ModelError(f"{where} gave an answer that cannot be used: {type(error).__name__}", hint=_ANOTHER)


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
    """What the server says is wrong, if that can be made out: one short line, unless it has a part of the key."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else inner
    if not isinstance(said, str) or _shares(said, key):
        return ""
    return ": " + " ".join("".join(c if c.isprintable() else " " for c in said).split())[:_MOST_SAID]


def _shares(said: str, key: str) -> bool:
    """Whether a text has the key, or as much of it as would help to guess it."""
    size = min(len(key), _MOST_OF_KEY)
    return any(key[at : at + size] in said for at in range(len(key) - size + 1)) if key else False
