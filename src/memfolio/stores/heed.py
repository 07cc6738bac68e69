"""Doing what a person asks for in a conversation: remember, forget, look for. Forgetting is only prepared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memfolio.errors import ConflictError, ModelError, PolicyError, RefusedError
from memfolio.llm.model import Model
from memfolio.recall.library import Library
from memfolio.sources import OVERHEARD
from memfolio.state import Op
from memfolio.stores.core import Core
from memfolio.stores.extract import lines, resolved, stated
from memfolio.stores.route import Routed, draft, route, route_by_model
from memfolio.stores.triggers import Asked, Trigger
from memfolio.types import Action, Attribution, MemoryItem, Store
from memfolio.vault.change import AddEntries, AddLines, Change, NewId
from memfolio.vault.format.draft import Draft, check_text
from memfolio.vault.paths import state_ledger
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
    return _remember(vault, library, agent, core, trigger, model, session=session, user=user)


def _remember(
    vault: Vault,
    library: Library,
    agent: str,
    core: Core,
    trigger: Trigger,
    model: Model | None,
    *,
    session: str | None,
    user: str | None,
) -> Heeded:
    """Keep the words of a person, in the place of what was only overheard; what they asked for before is kept once."""
    routed, notes = _routed(trigger.object, model, user)
    statement = stated(check_text(trigger.object), user, type=routed.type, kind=routed.kind)
    resolution = resolved(library.index, [(statement, vault.home.now())], vault.config.learn.conflicts, None)
    known = [found[1].item for ref, _ in resolution.repeated if (found := library.locate(str(ref)))]
    asked_for = next((each for each in known if each.source not in OVERHEARD), None)
    if asked_for is None:
        made = draft(routed, statement, user)._replace(session=session)
        overheard = ({"op": Op.SUPERSEDE.value, "memory": each.id, "by": NewId(0)} for each in known)
        records = (*lines(resolution), *overheard)
        try:
            remembered = _kept(vault, agent, made, records)
        except PolicyError:
            if made.store is not Store.VAULT:
                raise
            pinned = {"op": Op.PIN.value, "memory": NewId(0), "pinned": True}
            remembered = _kept(vault, agent, made._replace(store=Store.LONG_TERM), (*records, pinned))
            notes.append("pinned in long-term memory, since only its owner writes the vault")
    else:
        notes.append("this is remembered already")
    notes += [f"this contradicts {each.old.ref}: {each.old.text}" for each in resolution.contradicting]
    if routed.core_update:
        notes += _into_core(core, routed)
    return Heeded(trigger=trigger, routed=routed, remembered=asked_for or remembered, notes=tuple(notes))


def _kept(vault: Vault, agent: str, made: Draft, records: Sequence[Mapping[str, Any]]) -> MemoryItem:
    further = (AddLines(state_ledger(agent), tuple(records)),) if records else ()
    change = Change(operations=(AddEntries(agent, (made,)), *further), by=BY, action=Action.APPEND)
    return vault.apply(change).items[0]


def _routed(text: str, model: Model | None, user: str | None) -> tuple[Routed, list[str]]:
    try:
        return (route_by_model(model, text, user) if model else route(text, user)), []
    except ModelError as error:
        return route(text, user), [f"routed without the model: {error.message}"]


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
