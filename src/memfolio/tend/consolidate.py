"""Consolidation: ripe memories are grouped, and each group becomes one summary, as a change that can be undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import floor, inf
from typing import Any

from memfolio.index.index import Index
from memfolio.index.lookup import ripe
from memfolio.learn.learned import least_trusted
from memfolio.llm.model import Model
from memfolio.recall import query
from memfolio.settings import Consolidation
from memfolio.state import Op
from memfolio.tend.changes import JobChanges, tender
from memfolio.tend.extract import clipped, extract
from memfolio.text import terms
from memfolio.types import Action, Kind, MemoryItem, Store, frozen
from memfolio.vault.change import AddEntries, AddLines, Change, NewId, Operation
from memfolio.vault.fields import Draft, check_fraction
from memfolio.vault.paths import state_ledger

# Which memories belong together, by what their tags or words have in common. Pure.
#
# The memories are gone through in their order; each that is still free takes along all free ones that are like it:
# Jaccard similarity above a threshold. Two sets that share enough must share one of their rarest members already, so
# each is only looked up by those; and what has been taken is removed from where it is looked up.


def group(sets: Sequence[frozenset[str]], threshold: float, *, common: float = inf) -> list[list[int]]:
    """The places of the sets that belong together, in their order. Equal ones always do; what is empty is like nothing.

    What more than `common` of them have says too little to look them up by it.
    """
    alone = [[place] for place, each in enumerate(sets) if not each]
    equal: dict[frozenset[str], list[int]] = {}
    for place, each in enumerate(sets):
        if each:
            equal.setdefault(each, []).append(place)
    counts = Counter(member for each in equal for member in each)
    keys = {each: _rarest(each, counts, threshold, common) for each in equal}
    having: dict[str, list[frozenset[str]]] = {}
    for each, rarest in keys.items():
        for member in rarest:
            having.setdefault(member, []).append(each)
    found, free = [], set(equal)
    for seed in equal:
        if seed in free:
            free.discard(seed)
            alike = [seed, *_alike(seed, keys[seed], having, free, threshold)]
            found.append(sorted(place for each in alike for place in equal[each]))
    return sorted(found + alone)


def _rarest(members: frozenset[str], counts: Mapping[str, int], threshold: float, common: float) -> list[str]:
    """The members of which a set must share one with any that is more like it than the threshold."""
    # A hair less, so that a rounding error costs a comparison and never a pair.
    shared = max(1, floor(threshold * len(members) - 1e-9) + 1)
    ordered = sorted(members, key=lambda member: (counts[member], member))
    return [member for member in ordered[: len(members) - shared + 1] if counts[member] <= common]


def _alike(
    seed: frozenset[str],
    keys: Iterable[str],
    having: dict[str, list[frozenset[str]]],
    free: set[frozenset[str]],
    threshold: float,
) -> Iterator[frozenset[str]]:
    """The free sets that are like one, which are free no longer."""
    for key in keys:
        having[key] = listed = [each for each in having[key] if each in free]
        for other in listed:
            shared = len(seed & other)
            if other in free and shared > threshold * (len(seed) + len(other) - shared):
                free.discard(other)
                yield other


# Consolidation: ripe memories → groups → one summary each → one change that marks its sources and can be undone.

TOGETHER = 20
"""How many memories one summary has at most; more are summed up in several."""
WORDS = 12
"""How many of its words describe a memory without tags."""
COMMON = 30
"""A word that more memories have does not say that they belong together."""
LINE = 200
"""How many characters of a source its line shows; the source itself stays complete."""
GIST = 120
"""Tokens that the gist may have."""
MOST_USES = 10**6
TITLED = 5
FEW = 4
"""This many short memories are read as fast as their summary."""
STOPS = (".", "!", "?", "…", ":", "。", "！", "？")


@frozen
class Consolidated:
    """What was promoted: alone, or with others as a summary."""

    groups: tuple[tuple[MemoryItem, ...], ...]
    """The sources of each summary."""
    promoted: tuple[MemoryItem, ...]
    """Those that became long-term memories as they are."""
    summaries: tuple[MemoryItem, ...] = ()
    diff: str = ""


def tuned(
    usual: Consolidation, *, min_importance: float | None, min_access_count: int | None, summarize: bool | None
) -> Consolidation:
    """Return the settings with the caller's changes; None leaves a setting as it is."""
    wanted: dict[str, Any] = {}
    if min_importance is not None:
        wanted["importance"] = check_fraction("min_importance", min_importance)
    if min_access_count is not None:
        wanted["uses"] = query.check_number("min_access_count", min_access_count, 1, MOST_USES)
    if summarize is not None:
        wanted["summarize"] = summarize
    return replace(usual, **wanted)


def consolidate(changes: JobChanges, index: Index, settings: Consolidation, model: Model | None = None) -> Consolidated:
    """Promote memories that proved important, as one change; if there are none, nothing is written."""
    found = index.read(lambda db: ripe(db, importance=settings.importance, uses=settings.uses))
    items = [each.item for each in found]
    parts = list(belonging(items, settings)) if settings.summarize else [[item] for item in items]
    groups = [tuple(each) for each in parts if len(each) > 1]
    alone = [each[0] for each in parts if len(each) == 1]
    if not items:
        return Consolidated(groups=(), promoted=())
    drafts = [summed_up(each, _gist(changes, each, model)) for each in groups]
    receipt = changes.make(_change(changes.agent, groups, drafts, alone))
    return Consolidated(
        groups=tuple(groups), promoted=tuple(alone), summaries=receipt.items if receipt else (), diff=changes.diff
    )


def belonging(items: Sequence[MemoryItem], settings: Consolidation) -> Iterator[list[MemoryItem]]:
    """Yield groups of related memories: by their tags, or else by their words."""
    tagged = [item for item in items if item.tags]
    plain = [item for item in items if not item.tags]
    by_tags = [frozenset(tag.casefold() for tag in item.tags) for item in tagged]
    by_words = [frozenset(word.casefold() for word in terms(item.content, limit=WORDS)) for item in plain]
    for places in group(by_tags, settings.similarity):
        yield from _parted([tagged[place] for place in places])
    for places in group(by_words, settings.text_similarity, common=COMMON):
        yield from _parted([plain[place] for place in places])


def _parted(items: list[MemoryItem]) -> Iterator[list[MemoryItem]]:
    """So many together as make a summary that can be read, in equal parts."""
    parts = -(-len(items) // TOGETHER)
    size = -(-len(items) // parts)
    return (items[start : start + size] for start in range(0, len(items), size))


def _gist(changes: JobChanges, sources: Sequence[MemoryItem], model: Model | None) -> str | None:
    """Return a model's summary of these memories; None without a model, or if it fails, which is noted once."""
    if model is None:
        return None
    from memfolio.llm.model import sum_up

    return changes.ask(lambda: sum_up(model, [each.content for each in sources], 200), "summed up without the model")


def _change(
    agent: str, groups: Sequence[Sequence[MemoryItem]], drafts: Sequence[Draft], alone: Iterable[MemoryItem]
) -> Change:
    lines: list[dict[str, Any]] = [_promoted(each) for each in alone]
    for place, sources in enumerate(groups):
        lines += [{**_promoted(each), "into": NewId(place)} for each in sources]
    operations: list[Operation] = [AddEntries(agent, tuple(drafts))] if drafts else []
    operations.append(AddLines(state_ledger(agent), tuple(lines)))
    return Change(operations=tuple(operations), by=tender("consolidate"), action=Action.MERGE)


def _promoted(item: MemoryItem) -> dict[str, Any]:
    return {"op": Op.STORE.value, "memory": item.id, "store": Store.LONG_TERM.value}


def summed_up(sources: Sequence[MemoryItem], gist: str | None = None) -> Draft:
    """Return the summary of several memories; `gist` is a model's text, otherwise key sentences are used."""
    chief = max(sources, key=lambda each: each.importance)  # of equal ones the first
    tags = Counter(tag for each in sources for tag in each.tags)
    return Draft(
        content=_content(sources, tags, gist),
        type=chief.type,
        kind=Kind.SEMANTIC if all(each.kind is Kind.SEMANTIC for each in sources) else chief.kind,
        store=Store.LONG_TERM,
        user=chief.user if len({each.user for each in sources}) == 1 else None,
        importance=chief.importance,
        confidence=min(each.confidence for each in sources),
        tags=tuple(tags),
        source="consolidation",
        origin=least_trusted(sources),
        derived_from=tuple(each.id for each in sources),
    )


def _content(sources: Sequence[MemoryItem], tags: Counter[str], gist: str | None) -> str:
    about = f" about {', '.join(tag for tag, _ in tags.most_common(TITLED))}" if tags else ""
    texts = [each.content for each in sources]
    is_plain = len(texts) <= FEW and all(len(each) <= LINE for each in texts)  # the lines say it all
    telling = gist or ("" if is_plain else _told(texts))
    lines = [f"- {clipped(each.content, LINE)} ({each.id})" for each in sources]
    return "\n".join([f"**{len(sources)} memories{about}**", "", *([telling, ""] if telling else []), *lines])


def _told(texts: Sequence[str]) -> str:
    """The telling sentences, each with its full stop."""
    found = [sentence for _, sentence in extract(texts, limit=3, tokens=GIST)]
    return " ".join(each if each.endswith(STOPS) else f"{each}." for each in found)
