"""Say everything once: of memories that repeat a sentence, the plainest shows it, and the others are its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from memfolio.recall.dates import pattern, words
from memfolio.recall.hit import GAP, MARKS, Hit, stem
from memfolio.recall.rank import CITED, PAGE, SUMMARIES
from memfolio.text import FUNCTION_WORDS, sentences
from memfolio.types import MemoryItem

FEWEST = 2
"""The fewest words of a sentence that another one can cover."""
_LINK = re.compile(r"\[\[(?:\w+--)?([^\]|]*)(?:\|[^\]]*)?\]\]")
_DATED = re.compile(r"(?m)^(\s*[-*+]\s+)\[\[\d{4}-\d\d-\d\d\]\]\s+")
_LIST_MARK = re.compile(r"[-*+]\s")
_WORD = re.compile(r"\w\w+")


class Sentence(NamedTuple):
    """The content of a sentence as stems, and the speaker if it is about themselves."""

    keys: frozenset[str]
    no: frozenset[str]
    """Its negations."""
    speaker: str | None
    is_turn: bool

    def is_told_by(self, other: Sentence) -> bool:
        """Whether another sentence says the same, or the same and more."""
        if not self.keys <= other.keys or self.no != other.no:
            return False
        if None not in (self.speaker, other.speaker) and self.speaker != other.speaker:
            return False
        # Two turns that are alike may be about two days; what was made of a turn is about that one.
        return self.keys == other.keys or (len(self.keys) >= FEWEST and not (self.is_turn and other.is_turn))


@dataclass(slots=True)
class Telling:
    """The sentences shown so far, and the memories that show them."""

    words: Set[str]
    """The stems of the question."""
    told: dict[Sentence, str] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)
    """Memories that add nothing to another, by its id."""

    def hits(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits that add something, in order, each without what a plainer one says."""
        kept = {}
        for nth in sorted(range(len(hits)), key=lambda nth: (*_plainness(hits[nth]), nth)):
            hit = hits[nth]
            content = self.rest(hit.memory, is_whole=any(reason.strategy == "time" for reason in hit.why))
            if content:
                kept[nth] = replace(hit, memory=replace(hit.memory, content=content))
        self._restore_turns(kept, hits)
        return [kept[nth] for nth in sorted(kept)]

    def _restore_turns(self, kept: dict[int, Hit], hits: Sequence[Hit]) -> None:
        """Show a turn whole, together with what was learned from it."""
        places = {hits[nth].memory.id: nth for nth in kept}
        replaced = {each for hit in hits for each in (hit.memory.id if hit.replaces else "", *hit.replaces)}
        for nth in sorted(kept):
            learned = hits[nth].memory
            turns = [places[each] for each in learned.derived_from if each in places]
            telling = [turn for turn in turns if _tells(hits[turn].memory, learned)]
            if telling and learned.id not in replaced:
                turn = hits[telling[0]]
                kept[telling[0]] = turn
                del kept[nth]
                self.sources.setdefault(turn.memory.id, []).extend((learned.id, *self.sources.pop(learned.id, ())))

    def rest(self, memory: MemoryItem, *, is_whole: bool = False) -> str:
        """What a memory tells beyond what is told, which is told then; nothing where that has no word of the question.

        `is_whole` says that all of it was asked for.
        """
        parts = list(_parts(memory))
        told = [self._by(said) for _, said in parts]
        new = [part for (part, _), teller in zip(parts, told, strict=True) if not teller]
        tellers = list(filter(None, told))
        if not new or (tellers and not is_whole and not any(self.is_asked(part) for part in new)):
            for teller in tellers[:1]:
                self.sources.setdefault(teller, []).append(memory.id)
            return ""
        for _, said in parts:
            if said.keys:
                self.told.setdefault(said, memory.id)
        return memory.content if len(new) == len(parts) and not _is_made(memory) else _joined(parts, new)

    def beyond(self, source: MemoryItem, fact: MemoryItem) -> str:
        """`rest` of what a fact was learned from, where it does not just say the fact with more around it."""
        if not _tells(source, fact):
            return self.rest(source)
        self.sources.setdefault(fact.id, []).append(source.id)
        return ""

    def is_news(self, text: str) -> bool:
        """Whether a part of a profile says what is not told."""
        keys, no = _keys(text)
        return not keys or not self._by(Sentence(keys, no, None, is_turn=False))

    def is_asked_news(self, text: str) -> bool:
        """`is_news`, of what has a word of the question."""
        return self.is_asked(text) and self.is_news(text)

    def _by(self, said: Sentence) -> str | None:
        """The memory that tells a sentence already."""
        if not said.keys:
            return None
        return next((teller for other, teller in self.told.items() if said.is_told_by(other)), None)

    def is_asked(self, part: str) -> bool:
        """Whether a sentence has a word of the question."""
        return not _keys(part)[0].isdisjoint(self.words)


def speaker(memory: MemoryItem, text: str) -> str | None:
    """Return who says something about themselves; None if the speaker makes no difference."""
    is_own = memory.role is not None and not words("own").isdisjoint(re.findall(r"\w+", text.casefold()))
    return (memory.user or memory.role) if is_own else None


def asked_stems(question: Iterable[str]) -> frozenset[str]:
    """The words of a question as sentences are compared with them."""
    return frozenset(stem(word).removesuffix("e") for word in question)


def _plainness(hit: Hit) -> tuple[int, int, bool]:
    """The plainest first: what somebody said or knows before pages, these before what sums up; then the shortest."""
    memory = hit.memory
    made = 2 if memory.source in SUMMARIES else int(memory.source == PAGE)
    return made, len(sentences(memory.content)), memory.role is not None


def _tells(memory: MemoryItem, learned: MemoryItem) -> bool:
    """Whether a memory contains each sentence of what was learned from it."""
    said = [sentence for _, sentence in _parts(memory)]
    return all(any(own.is_told_by(other) for other in said) for _, own in _parts(learned))


def _is_made(memory: MemoryItem) -> bool:
    return memory.source == PAGE or memory.source in SUMMARIES


def _parts(memory: MemoryItem) -> Iterator[tuple[str, Sentence]]:
    """Yield the sentences of a memory; of pages and summaries, only those with content."""
    is_made, is_turn = _is_made(memory), memory.role is not None
    text = _DATED.sub(r"\1", CITED.sub("", memory.content)) if is_made else memory.content
    for part in sentences(text):
        if is_made and pattern("bare").fullmatch(part.strip()):
            continue
        keys, no = _keys(part)
        # A question tells nothing, so that nothing is told by it.
        is_question = part.rstrip().endswith(MARKS)
        yield part, Sentence(frozenset() if is_question else keys, no, speaker(memory, part), is_turn)


@lru_cache(8192)
def _keys(part: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems by which sentences are compared, and the negations."""
    found = set(_WORD.findall(_LINK.sub(r"\1", part).casefold())) - FUNCTION_WORDS
    no = found & words("negations")
    return asked_stems(found - words("labels") - no), frozenset(no)


def _joined(parts: Sequence[tuple[str, Sentence]], new: Sequence[str]) -> str:
    """Join the new sentences, with a mark for omitted ones."""
    text, is_open = "", False
    for part, _ in parts:
        if part not in new:
            is_open = True
            continue
        text += (GAP if is_open else "\n" if _LIST_MARK.match(part) else " " if text else "") + part
        is_open = False
    return text.strip()


def merged(ids: Iterable[str], sources: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the ids of the memories shown, each followed by those that it covers."""
    return tuple(dict.fromkeys(each for shown in ids for each in (shown, *sources.get(shown, ()))))
