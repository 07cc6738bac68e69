"""Doing what a person asks for in a conversation: remember, forget, look for. Forgetting is only prepared."""

from __future__ import annotations

from dataclasses import dataclass

from memfolio.errors import ConflictError, ModelError, RefusedError
from memfolio.llm.model import Model
from memfolio.recall.library import Library
from memfolio.stores.core import Core
from memfolio.stores.route import Routed, draft, route, route_by_model
from memfolio.stores.triggers import Asked, Trigger
from memfolio.types import Attribution, MemoryItem
from memfolio.vault.vault import Vault

BY = Attribution(actor="bot:trigger-remember", trigger="heed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heeded:
    """What a message asked for, and what came of it."""

    trigger: Trigger
    routed: Routed | None = None
    remembered: MemoryItem | None = None
    fits: tuple[MemoryItem, ...] = ()
    """What would be forgotten: for a person to agree to, and then to `forget` by its id."""
    notes: tuple[str, ...] = ()


def heed(
    vault: Vault,
    library: Library,
    agent: str,
    core: Core,
    trigger: Trigger,
    *,
    model: Model | None = None,
    session: str | None = None,
    user: str | None = None,
) -> Heeded:
    """Do what a trigger asks for, as far as it can be taken back."""
    if trigger.kind is Asked.FORGET:
        return _prepare_to_forget(library, trigger)
    if trigger.kind is not Asked.REMEMBER:
        return Heeded(trigger=trigger)
    routed, notes = _routed(trigger.object, model)
    made = draft(routed, trigger.object)._replace(session=session, user=user)
    item = vault.add(agent, [made], BY).items[0]
    if routed.core_update:
        notes += _into_core(core, routed)
    return Heeded(trigger=trigger, routed=routed, remembered=item, notes=tuple(notes))


def _routed(text: str, model: Model | None) -> tuple[Routed, list[str]]:
    if model is None:
        return route(text), []
    try:
        return route_by_model(model, text), []
    except ModelError as error:
        return route(text), [f"routed without the model: {error.message}"]


def _into_core(core: Core, routed: Routed) -> list[str]:
    try:
        core.add(routed.block, routed.summary)
    except (RefusedError, ConflictError) as error:  # it is remembered all the same
        return [f"not in core memory: {error.message}"]
    return []


def _prepare_to_forget(library: Library, trigger: Trigger) -> Heeded:
    try:
        found = library.described(trigger.object)
    except ConflictError as error:  # too many fit
        return Heeded(trigger=trigger, notes=(error.message,))
    return Heeded(trigger=trigger, fits=tuple(each.item for _, each in found))
