"""Watching for what the owner must be told: contradictions, growth, what does not work, and a trail that was altered.

Looking finds causes; each is raised once as a line of the trail, and not again when it was acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from memfolio.clock import iso
from memfolio.errors import SearchIndexError
from memfolio.index.lookup import active_facts
from memfolio.index.vectors import count_pending
from memfolio.learn.resolve import Knowledge, KnownStatementAbout, plain_words
from memfolio.recall.library import Library
from memfolio.state import moment
from memfolio.types import Attribution, MemoryItem, Origin
from memfolio.vault.alerts import WATCHMAN, all_alerts, broken_seals
from memfolio.vault.paths import AUDIT, SHARED
from memfolio.vault.trail import TrailLine
from memfolio.vault.vault import Vault

TROUBLES = "troubles"
"""In the home's inside: since when each part does not work. Only a hint."""
LASTING = timedelta(hours=12)
"""After which time what does not work is told; what is well again at the next look is not."""
BACKLOG = 1000
"""How many memories may wait for their vectors."""
MANY = 20_000
"""How many facts of an agent are compared, the most important first: to read one takes half a millisecond."""
MOST = 20
"""How many alerts are raised at one look."""
SPEAKER = "the user"
"""Whom the rules take somebody without a name for."""


Cause = tuple[Attribution, tuple[str, ...]]
"""What an alert is raised about: its trigger and source, and the memories. The trail tells causes apart by it."""


def watch(vault: Vault, library: Library, agent: str, now: datetime) -> list[TrailLine]:
    """Look for whatever the owner must be told and raise what was not raised before; returns the alerts that are new.

    Where the home cannot be written, nothing is looked for.
    """
    if not vault.can_write:
        return []
    head = vault.head
    vault.survey()  # which tells of critical files
    broken = broken_seals(vault)
    causes = [
        *([_cause(f"trail-altered:{broken}")] if broken else []),
        *_growth(vault),
        *_degraded(vault, library, agent, now),
        *_contradictions(vault, library, agent, now),
    ]
    with vault.exclusive():
        told = {(line.by, line.ids) for line in all_alerts(vault)}
        for by, ids in [cause for cause in causes if cause not in told][:MOST]:
            vault.raise_alert(by, ids)
    return [line for line in all_alerts(vault) if line.seq > head]


def _cause(trigger: str, *, ids: tuple[str, ...] = (), agent: str | None = None) -> Cause:
    return replace(WATCHMAN, trigger=trigger, source=agent), ids


def _growth(vault: Vault) -> Iterator[Cause]:
    """The budget, or as many times twice of it as the files have outgrown, unless as much was told before."""
    size = sum(state.size for path, state in vault.states().items() if not path.startswith(f"{AUDIT}/"))
    limit = budget = vault.config.alerts.bytes
    while limit * 2 <= size:
        limit *= 2
    told = [line.by.trigger.removeprefix("growth:") for line in all_alerts(vault)]
    if size >= budget and limit > max((int(each) for each in told if each.isdecimal()), default=0):
        yield _cause(f"growth:{limit}")


def _contradictions(vault: Vault, library: Library, agent: str, now: datetime) -> Iterator[Cause]:
    """Facts that hold at the moment, are certain and cannot both be true: of what is about one thing the last two."""
    facts, own, least = dict[str, MemoryItem](), set[str](), vault.config.alerts.confidence
    with suppress(SearchIndexError):  # which is a trouble of its own
        for index in library.indexes():
            valid = index.read(lambda db: active_facts(db, now, None, MANY))
            certain = [item for item in valid if item.confidence >= least and item.origin is not Origin.UNTRUSTED]
            facts |= {item.id: item for item in certain}
            own = set(facts) if index is library.index else own
    for ids in _pairs(facts.values()):
        yield _cause("contradiction", ids=ids, agent=SHARED if own.isdisjoint(ids) else agent)


def _pairs(facts: Iterable[MemoryItem]) -> list[tuple[str, str]]:
    """Each fact is compared with the last about the same only, since somebody may write thousands about one thing."""
    last, pairs = dict[tuple[str, ...], KnownStatementAbout](), dict[tuple[str, ...], tuple[str, str]]()
    for item in sorted(facts, key=lambda item: (item.created_at, item.id)):
        known = KnownStatementAbout.of(item)
        thing = (*known.slot, (item.user or "") if plain_words(known.subject) == SPEAKER else "")
        places = [(*thing, plain_words(known.object)), *([thing] if known.is_single and not known.negated else [])]
        for other in Knowledge(filter(None, map(last.get, places))).detect(known):
            pairs[thing] = str(other.ref), item.id
        last |= dict.fromkeys(places, known)
    return list(pairs.values())


def _degraded(vault: Vault, library: Library, agent: str, now: datetime) -> Iterator[Cause]:
    """What has not worked for a while, unless an alert about it is open."""
    standing = {line.by.trigger.rpartition(":")[0] for line in vault.alerts()}
    for part, since in _lasting(vault, agent, _troubles(vault, library, now), now).items():
        if now - since >= LASTING and f"degraded:{part}" not in standing:
            yield _cause(f"degraded:{part}:{since:%Y-%m-%d}")


def _troubles(vault: Vault, library: Library, now: datetime) -> list[str]:
    """The parts that do not work at the moment. An embedder is asked for something, so that it has to answer."""
    embedder = library.vectorizer.of(f"{now:%Y-%m-%d %H:%M}") and library.vectorizer.embedder
    found = [each.partition(":")[0] for each in library.degraded()]
    with suppress(SearchIndexError):
        waiting = sum(index.read(count_pending) for index in library.indexes())
        found += ["backlog"] if embedder and waiting > BACKLOG else []
    found += ["git"] if vault.commit() and vault.obstacle else []
    return [part for part in found if part != "vectors" or library.vectorizer.trouble]  # no embedder is a choice


def _lasting(vault: Vault, agent: str, troubles: Sequence[str], now: datetime) -> dict[str, datetime]:
    """Since when each of these parts does not work, by what the looks before this one noted."""
    noted, before = vault.hint(TROUBLES), {}
    with suppress(ValueError, TypeError):
        before = dict(noted.get(agent, {}))
    since = {part: moment(before.get(part)) or now for part in troubles}
    after = {part: iso(at) for part, at in since.items()}
    if after != before:
        vault.note_hint(TROUBLES, noted | {agent: after})
    return since
