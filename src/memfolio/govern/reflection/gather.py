"""Looking through a memory: survey, review of the reflections before, consolidation, core memory, questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, zip_longest

from memfolio.errors import HistoryError
from memfolio.govern.reflection import core
from memfolio.govern.reflection.connections import connected, merging
from memfolio.govern.reflection.item import Findings, Item, Reflected, Verb
from memfolio.govern.reflection.knowledge import Clash, Facts, Held, contradictions, learnable, quote, read
from memfolio.govern.reflection.meta import Arc, reviewed
from memfolio.govern.reflection.survey import topics
from memfolio.index.index import Index
from memfolio.index.reflecting import IMPORTANT, Seen, look, rests
from memfolio.learn.drafting import moment
from memfolio.llm.model import Model
from memfolio.recall.library import Library
from memfolio.sources import OVERHEARD, SUMMED_UP
from memfolio.stores.core import Core
from memfolio.text import estimate_tokens
from memfolio.types import Kind, MemoryItem
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
    index, settings, notes = library.index, vault.config.reflection, list[str]()
    seen = index.read(partial(look, now=now, since=since, month=core.STALE, decay=vault.config.decay))
    looking = _Looking(vault=vault, index=index, agent=agent, now=now, seen=seen, rejected=rejected)
    about = looking.topics(seen.fresh)
    found, open_ = looking.find(notes)
    wanted = {verb: [*filter(looking.is_wanted, items)] for verb, items in found.items()}
    first = [each for items in wanted.values() for each in items[: settings.items]]
    insights = reviewed(Arc(past, about, seen.replaced, first), model, notes)
    asked = Counter(question for each in past for question in each.questions)
    questions = tuple(each for each in dict.fromkeys(open_) if asked[each] < AGAIN)[:QUESTIONS]
    words = (insights.learning, insights.understanding, insights.theme, *questions, *about, *notes)
    kept = _fitting(first, max(settings.tokens - PAGE, settings.tokens // 2) - sum(map(estimate_tokens, words)))
    left = Counter({verb.value: len(items) for verb, items in wanted.items()})
    left[Verb.ARCHIVE.value] += max(0, seen.faded_count - len(seen.faded))
    left.subtract(each.verb.value for each in kept)
    return Findings(
        items=tuple(kept),
        insights=insights,
        questions=questions,
        topics=about,
        looked_at=_counts(seen),
        left_out=dict(+left),
        notes=tuple(notes),
    )


def _counts(seen: Seen) -> dict[str, int]:
    """How much was looked through."""
    episodes = sum(each.kind is Kind.EPISODIC and each.source not in OVERHEARD for each in seen.fresh)
    return {
        "episodes": episodes,
        "memories": len(seen.fresh) - episodes,
        "conversations": len({each.session for each in seen.fresh if each.session}),
        "entities": len(seen.material.nodes),
    }


def _fitting(items: Sequence[Item], room: int) -> list[Item]:
    """These proposals, less the last ones of the longest sections where they have more tokens than there is room."""
    kept = list(items)
    while kept and sum(map(_tokens, kept)) > room:
        [(verb, _)] = Counter(each.verb for each in kept).most_common(1)
        del kept[max(at for at, each in enumerate(kept) if each.verb is verb)]
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
    rejected: Container[str]

    def find(self, notes: list[str]) -> tuple[dict[Verb, Iterable[Item]], Iterator[str]]:
        """Proposals of each verb, and questions."""
        material = self.seen.material
        old, new = self.seen.known[:-APART], self.seen.known[-APART:]
        held = [*(Held.of(each, takes_apart=False) for each in old), *map(Held.of, new)]
        facts = Facts([*map(Held.of, self.seen.forgotten), *held])
        clashes = [each for each in contradictions(facts) if self.is_wanted(each.item)]
        doubtful = {each for clash in clashes for each in clash.doubtful}
        learn = self.vault.config.learn
        learning = learnable(facts, read(self._episodes(notes)), learn.conflicts) if learn.enabled else []
        doubted = {each.item.id for item, old in learning if self.is_wanted(item) for each in old}
        merges, unsure = merging(material, learn.merge)
        rewrite = self._rewrite([each for each in held if each.item.id not in doubtful | doubted], clashes)
        found: dict[Verb, Iterable[Item]] = {
            Verb.LEARN: [item for item, _ in learning],
            Verb.CONNECT: connected(self.index, material, merges),
            Verb.MERGE: merges,
            Verb.ARCHIVE: self._fading(doubtful),
            Verb.RESOLVE: [clash.item for clash in clashes if clash.why],
            Verb.CORE: rewrite.items(),
        }
        known = {each.item.id for each in held} - doubtful
        weak = [item for item, _ in self.seen.weak if item.id in known and core.is_important(item)]
        weak = [item for item in weak if not rewrite.says(item.content)]
        in_turn = zip_longest(
            [_which(clash) for clash in clashes if not clash.why],
            [f"Are {one.name} and {other.name} the same {one.type}?" for one, other in unsure],
            [f"“{quote(item.content)}”, {_last_use(item)}: does it still hold?" for item in weak],
            rewrite.questions,
        )
        return found, filter(None, chain.from_iterable(in_turn))

    def topics(self, items: Sequence[MemoryItem]) -> tuple[str, ...]:
        return topics(items, (node.name for node in self.seen.material.nodes))

    def is_wanted(self, item: Item) -> bool:
        """Whether nobody rejected it."""
        return not any(mark in self.rejected for mark in item.marks)

    def _episodes(self, notes: list[str]) -> list[MemoryItem]:
        """What happened and was not learned from, as far as it is not too much.

        That of the last weeks is read again, since nobody may have decided on what it gave.
        """
        among = max(self.seen.fresh, self.seen.lately, key=len)
        waiting = [each for each in among if self._is_unread(each)]
        if len(waiting) > EPISODES:
            notes.append(f"only the newest {EPISODES:,} episodes were read: there are more")
        return waiting[-EPISODES:]

    def _is_unread(self, item: MemoryItem) -> bool:
        if item.kind is not Kind.EPISODIC or item.source in (*OVERHEARD, *SUMMED_UP):
            return False
        return item.role is None or item.id in self.seen.unread

    def _fading(self, doubtful: Container[str]) -> Iterator[Item]:
        """What may be archived; what is important is asked about instead."""
        for item, score in self.seen.faded:
            if item.id not in doubtful and (item.kind is Kind.EPISODIC or item.importance < IMPORTANT):
                why = f"relevance {score:.3f}, {_last_use(item)}"
                yield Item(verb=Verb.ARCHIVE, memory=item.id, why=why, quotes={item.id: quote(item.content)})

    def _rewrite(self, held: Sequence[Held], clashes: Sequence[Clash]) -> core.Rewrite:
        memory = Core(self.vault, self.agent).read()
        lines = {each.text: each for block in memory.blocks for each in block.items}
        asked = {text: partial(rests, words=each.says, id=each.id, same=core.same) for text, each in lines.items()}
        users = {each.user for each in (*self.seen.known, *self.seen.lately) if each.user}
        mine = (None, *users) if len(users) == 1 else (None,)  # of many users none is told to the others
        lately = [each for each in self.seen.lately if each.user in mine and self.now - moment(each) <= core.STALE]
        settled = [(clash.old.item.content, clash.new.item.content) for clash in clashes if clash.why]
        known = core.Known(
            memory=memory,
            rests={text: self.index.read(question) for text, question in asked.items()},
            before=self._before(memory.path) if lines else "",
            held=[each for each in held if each.item.user in mine],
            dormant={item.id for item, _ in self.seen.weak},
            outdated=[*settled, *self.seen.replaced],
            lately=lately,
            topics=self.topics(lately),
            rejected=self.rejected,
            now=self.now,
        )
        return core.Rewrite(known)

    def _before(self, path: str) -> str:
        """What a page said before nothing came up for long; empty where that cannot be told."""
        with suppress(HistoryError):
            if commit := self.vault.history.at_time(self.now - core.STALE):
                return (self.vault.history.read(path, commit=commit) or b"").decode("utf-8", "replace")
        return ""


def _which(clash: Clash) -> str:
    told = [f"“{quote(each.item.content)}” ({moment(each.item):%Y-%m-%d})" for each in (clash.old, clash.new)]
    return f"{' and '.join(told)} cannot both be so: is it the second one?"


def _last_use(item: MemoryItem) -> str:
    if item.accessed_at is None:
        return f"not used since {item.created_at:%Y-%m-%d}"
    times = f"{item.access_count} times, " if item.access_count > 1 else ""
    return f"used {times}last on {item.accessed_at:%Y-%m-%d}"
