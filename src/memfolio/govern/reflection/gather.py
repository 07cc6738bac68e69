"""Looking through a memory: survey, review of the reflections before, consolidation, core memory, questions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from memfolio.errors import HistoryError
from memfolio.govern.reflection import core
from memfolio.govern.reflection.connections import connected, merging
from memfolio.govern.reflection.item import Findings, Item, Reflected, Verb
from memfolio.govern.reflection.knowledge import Contradictions, Facts, Held, contradictions, learnable, quote, read
from memfolio.govern.reflection.meta import Arc, reviewed
from memfolio.govern.reflection.survey import topics
from memfolio.graph.making import graph_folder
from memfolio.graph.vocabulary import DEFAULT
from memfolio.index.graph import as_list
from memfolio.index.index import Index
from memfolio.index.reflecting import IMPORTANT, RECENT, Seen, look, rests
from memfolio.learn.drafting import moment
from memfolio.learn.resolve import Known
from memfolio.llm.model import Model
from memfolio.recall.library import Library
from memfolio.sources import OVERHEARD, SUMMED_UP
from memfolio.stores.core import Core
from memfolio.text import estimate_tokens
from memfolio.types import Kind, MemoryItem, Store
from memfolio.vault.vault import Vault

EPISODES = 1500
"""How many episodes are read at most, the newest."""
APART = 5000
"""How many facts are taken apart by rules, the newest."""
QUESTIONS = 4
AGAIN = 2
"""After how many reflections that asked it a question is not asked again."""
PAGE = 1000
"""Tokens of the page around the findings."""
DISPENSABLE = (Verb.ARCHIVE, Verb.CONNECT, Verb.MERGE, Verb.LEARN, Verb.RESOLVE, Verb.CORE)
"""Which proposals give way first where there is too much."""


def look_through(
    vault: Vault,
    library: Library,
    agent: str,
    *,
    now: datetime,
    since: datetime | None,
    past: Sequence[Reflected],
    rejected: Container[str],
    model: Model | None = None,
) -> Findings:
    """What a reflection at this moment proposes, asks and notes; nothing is changed."""
    index, settings = library.index, vault.config.reflection
    seen = index.read(partial(look, now=now, since=since, month=core.STALE, decay=vault.config.decay))
    looking = _Looking(vault=vault, index=index, agent=agent, now=now, seen=seen)
    notes: list[str] = []
    found, about, names, questions = looking.find(notes)
    wanted = {verb: [each for each in items if each.mark not in rejected] for verb, items in found.items()}
    first = [each for items in wanted.values() for each in items[: settings.items]]
    insights = reviewed(Arc(past, about, seen.replaced, first), model, notes)
    asked = Counter(question for each in past for question in each.questions)
    open_ = tuple(each for each in dict.fromkeys(questions) if asked[each] < AGAIN)[:QUESTIONS]
    words = (insights.learning, insights.understanding, insights.theme, *open_, *about, *notes)
    room = max(settings.tokens - PAGE, settings.tokens // 2) - sum(map(estimate_tokens, words))
    kept = fitting(first, room)
    left = Counter({verb.value: len(items) for verb, items in wanted.items()})
    left[Verb.ARCHIVE.value] += max(0, seen.faded_count - len(seen.faded))
    left.subtract(each.verb.value for each in kept)
    return Findings(
        items=tuple(kept),
        insights=insights,
        questions=open_,
        topics=about,
        looked_at={**seen.came, "entities": len(names)},
        left_out={verb: count for verb, count in left.items() if count > 0},
        notes=tuple(notes),
    )


def fitting(items: Sequence[Item], room: int) -> list[Item]:
    """These proposals, less the last ones of the longest sections where they have more tokens than there is room."""
    kept = list(items)
    total = sum(map(_tokens, kept))
    while kept and total > room:
        count = Counter(each.verb for each in kept)
        verb = max(DISPENSABLE, key=lambda each: count[each])
        last = max(at for at, each in enumerate(kept) if each.verb is verb)
        total -= _tokens(kept.pop(last))
    return kept


def _tokens(item: Item) -> int:
    words = (item.text, item.why, item.subject, item.predicate, item.object, *item.removed, *item.added)
    return sum(map(estimate_tokens, (*words, *item.quotes.values())))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looking:
    vault: Vault
    index: Index
    agent: str
    now: datetime
    seen: Seen

    def find(
        self, notes: list[str]
    ) -> tuple[dict[Verb, Iterable[Item]], tuple[str, ...], Mapping[str, object], Iterator[str]]:
        """Proposals of each verb, topics, who and what is mentioned, and questions."""
        told = read(self._episodes(notes))
        names = self._names(told.names)
        about = topics(self.seen.fresh, names)
        held = self._held()
        facts = Facts([*(Held(each, Known.of(each)) for each in self.seen.forgotten), *held])
        clashes = contradictions(self.index, facts)
        merges, unsure = merging(self.seen.material, self.vault.config.learn.merge)
        rewrite = core.Rewrite(self._for_core(held, about, clashes))
        page = self.vault.page(f"{graph_folder(self.agent)}/relations.md")
        found: dict[Verb, Iterable[Item]] = {
            Verb.LEARN: learnable(facts, told) if self.vault.config.learn.enabled else (),
            Verb.CONNECT: connected(self.index, self.seen.material, page.text if page else DEFAULT, merges),
            Verb.MERGE: merges,
            Verb.ARCHIVE: self._fading(clashes),
            Verb.RESOLVE: [item for item, *_ in clashes.decided],
            Verb.CORE: rewrite.items(),
        }
        questions = _in_turn(
            [_which(*pair) for pair in clashes.undecided],
            [f"Are {one.name} and {other.name} the same {one.type}?" for one, other in unsure],
            [f"{_used(item)}: does it still hold?" for item in self._weak(clashes) if not rewrite.says(item.content)],
            [f"{_used(item)}: should it be pinned, so that it never fades?" for item in self._loose()],
            [f"“{quote(line)}” in core memory has {core.STALED}: may it go?" for line in rewrite.stale],
        )
        return found, about, names, questions

    def _episodes(self, notes: list[str]) -> list[MemoryItem]:
        """What happened and was not learned from, as far as it is not too much.

        That of the last weeks is read again, since nobody may have decided on what it gave.
        """
        among = max(self.seen.fresh, self.seen.lately, key=len)
        waiting = [each for each in among if self._is_unread(each)]
        if len(waiting) > EPISODES or len(among) == RECENT:
            notes.append(f"only the newest {min(len(waiting), EPISODES):,} episodes were read: there are more")
        return waiting[-EPISODES:]

    def _is_unread(self, item: MemoryItem) -> bool:
        if item.kind is not Kind.EPISODIC or item.source in (*OVERHEARD, *SUMMED_UP):
            return False
        return item.id in self.seen.unread if item.role is not None else True

    def _held(self) -> list[Held]:
        """What is known; what nobody said what it is about is taken apart, as far as it is not too much."""
        apart = {each.id for each in [each for each in self.seen.known if "subject" not in each.attributes][:-APART]}
        return [
            Held(each, Known(ref=each.id, text=each.content, at=moment(each)) if each.id in apart else Known.of(each))
            for each in self.seen.known
        ]

    def _names(self, heard: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
        """Who and what is mentioned, with the memories that do."""
        names, spelled = defaultdict[str, set[str]](set), dict[str, str]()
        mentions = [each for line in self.seen.material.sessions for each in as_list(line.get("mentions"))]
        told = [(str(each.get("name")), as_list(each.get("in"))) for each in mentions if isinstance(each, dict)]
        fresh = {each.id for each in self.seen.fresh}
        for name, ids in (*told, *heard.items()):
            if found := fresh.intersection(map(str, ids)):
                names[spelled.setdefault(name.casefold(), name)] |= found
        return names

    def _fading(self, clashes: Contradictions) -> Iterator[Item]:
        """What may be archived; what is important is asked about instead."""
        for item, score in self.seen.faded:
            if item.id not in clashes.doubtful and (item.kind is Kind.EPISODIC or item.importance < IMPORTANT):
                why = f"relevance {score:.3f}, {_last_use(item)}"
                yield Item(verb=Verb.ARCHIVE, memory=item.id, why=why, quotes={item.id: quote(item.content)})

    def _for_core(self, held: Sequence[Held], about: Sequence[str], clashes: Contradictions) -> core.Known:
        memory = Core(self.vault, self.agent).read()
        lines = {each.text: each for block in memory.blocks for each in block.items}
        asked = {text: partial(rests, words=each.says, id=each.id, same=core.same) for text, each in lines.items()}
        return core.Known(
            memory=memory,
            rests={text: self.index.read(question) for text, question in asked.items()},
            before=self._before(memory.path) if lines else "",
            held=[each for each in held if each.item.id not in clashes.doubtful],
            dormant=frozenset(item.id for item, _ in self.seen.weak),
            outdated=[*((old.item.content, new.item.content) for _, old, new in clashes.decided), *self.seen.replaced],
            lately=self.seen.lately,
            topics=about,
            now=self.now,
        )

    def _before(self, path: str) -> str:
        """What a page said before nothing came up for long; empty where that cannot be told."""
        with suppress(HistoryError):
            if commit := self.vault.history.at_time(self.now - core.STALE):
                return (self.vault.history.read(path, commit=commit) or b"").decode("utf-8", "replace")
        return ""

    def _weak(self, clashes: Contradictions) -> list[MemoryItem]:
        """What is important and has faded."""
        known = {each.id for each in self.seen.known} - clashes.doubtful
        return [item for item, _ in self.seen.weak if item.kind is not Kind.EPISODIC and item.id in known]

    def _loose(self) -> list[MemoryItem]:
        """What is used often and may fade nevertheless."""
        used = [each for each in self.seen.known if each.access_count >= core.OFTEN and each.store is not Store.VAULT]
        loose = [each for each in used if not each.pinned and each.decay_rate != 0]
        return sorted(loose, key=lambda item: -item.access_count)


def _in_turn(*sorts: Sequence[str]) -> Iterator[str]:
    """The first of each sort, then the second of each, and so on."""
    for nth in range(max(map(len, sorts))):
        yield from (each[nth] for each in sorts if nth < len(each))


def _which(old: Held, new: Held) -> str:
    told = [f"“{quote(each.item.content)}” ({moment(each.item):%Y-%m-%d})" for each in (old, new)]
    return f"{' and '.join(told)} cannot both be so: is it the second one?"


def _used(item: MemoryItem) -> str:
    """The words of a memory, and how it was used."""
    return f"“{quote(item.content)}”, {_last_use(item)}"


def _last_use(item: MemoryItem) -> str:
    if item.accessed_at is None:
        return f"not used since {item.created_at:%Y-%m-%d}"
    times = f"{item.access_count} times, " if item.access_count > 1 else ""
    return f"used {times}last on {item.accessed_at:%Y-%m-%d}"
