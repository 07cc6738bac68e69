"""What the tests ask a model for."""

from __future__ import annotations

from dataclasses import dataclass

from memfolio.llm.model import Allowance, Endpoint, ServedModel
from memfolio.testing import ScriptedModel
from memfolio.vault.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Drink:
    name: str
    cups: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    who: str
    drinks: tuple[Drink, ...] = ()


TEA = Order(who="Alex", drinks=(Drink(name="tea", cups=2),))


def door(server: ScriptedModel, *, key: str = "", timeout: float = 5.0, budget: int = 0) -> ServedModel:
    """The real door to a scripted server."""
    endpoint = Endpoint(provider="openai", model="scripted", url=server.url, key=key)
    return ServedModel(endpoint, timeout=timeout, allowance=Allowance(Usage(), budget))


def ask(model: ServedModel, material: str = "Alex had two teas.") -> Order:
    return model.ask("Say who ordered what.", material, Order)
