"""Which language model a home uses."""

from __future__ import annotations

from memfolio.config import Config
from memfolio.llm.model import Model
from memfolio.llm.provider import Endpoint
from memfolio.llm.served import ServedModel
from memfolio.redact.redactor import Redactor


def open_model(config: Config) -> Model | None:
    """The language model that the configuration asks for; None where there is to be none, as by default.

    Loads nothing and connects to nothing: what is missing or does not answer is a ModelError when it is asked.
    """
    if config.model_provider == "none":
        return None
    endpoint = Endpoint(
        provider=config.model_provider,
        model=config.model_name,
        url=config.model_url,
        url_is_own=config.model_url_is_own,
        key=config.model_key,
    )
    clean = Redactor(config.redact).clean
    return ServedModel(endpoint, timeout=config.model_timeout, budget=config.model_budget, clean=clean)
