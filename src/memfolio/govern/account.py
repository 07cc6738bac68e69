"""Answers to a person's questions: what changed, why something was said, and forgetting everything about a subject."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memfolio.arguments import ANY_ID, check_string
from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.recall.current import is_about_others
from memfolio.recall.dates import calendar_words, moment_of
from memfolio.text import FUNCTION_WORDS, packaged_table, sentence_pattern, terms
from memfolio.types import Action, Attribution, MemoryItem, frozen
from memfolio.vault.folders import notes_below
from memfolio.vault.past.past import BOOKKEEPING, Past, TrailEntry, TrailFilter
from memfolio.vault.paths import SHARED

if TYPE_CHECKING:
    from memfolio.govern.gate import Gate
    from memfolio.govern.rooms import GovernedFacts
    from memfolio.recall.explain import Explanation
    from memfolio.recall.hit import Hit
    from memfolio.recall.searcher import Searcher
    from memfolio.vault.vault import Vault

USUAL = timedelta(days=7)
AT_ONCE = 200
MOST = 10_000
"""How many changes are looked through, and how many memories go at once."""
BEHIND, LOOKED_AT = 3, 12
"""Memories that are named as the reason for one thing that was said, and among how many they are looked for."""
SURELY = 2.5
"""How many times the fit from which a memory is likely to answer one must have to be called a reason.

Statements on the same subject reach about twice that fit, and what a statement rests on rarely less than three times.
"""
AGREE = "show the person what would go; when they agree, call it again with confirmed set to true"

SAID, COUNTED = "said", "counted"
_SENTENCE = sentence_pattern()
_ITEM = re.compile(r"\s*(?:[-*+]|[0-9]{1,9}[.)])\s")
_ROW = re.compile(r"[,:;&、，]|\b(?:and|or|und|oder)\b")
_TABLE = packaged_table("govern/data/changes.toml")


@frozen
class ConversationChanges:
    """What was said in one conversation: how many changes, and the newest of them."""

    session: str | None
    count: int
    last: TrailEntry


@frozen
class ChangeGroup:
    """Changes of one sort, newest first."""

    deed: str
    words: str
    count: int
    newest: tuple[TrailEntry, ...]
    conversations: tuple[ConversationChanges, ...] = ()
    """Of turns: the newest conversations in which they were said."""


@frozen
class ChangedNote:
    """A watched note that was written in a period; whether it was new then is not known."""

    path: str
    at: datetime


@frozen
class Changes:
    """The changes in a period, grouped by what was done."""

    since: datetime
    until: datetime
    count: int
    groups: tuple[ChangeGroup, ...]
    notes: int = 0
    """How many watched notes were added or edited; no change of the home, since they are only read."""
    newest_notes: tuple[ChangedNote, ...] = ()


@frozen
class Because:
    """The memories behind something that was said; empty if nothing is remembered about it."""

    text: str
    memories: tuple[Explanation, ...]


@frozen
class ForgottenAbout:
    """What was forgotten about a person or thing, or would be."""

    name: str
    memories: tuple[MemoryItem, ...]
    facts: tuple[str, ...]
    kept: tuple[MemoryItem, ...]
    """Memories about something else that name it too."""
    pages: tuple[str, ...]
    """Pages that name it, which are nobody's to rewrite but their writer's."""
    seqs: tuple[int, ...] = ()
    """The changes that it was done as; none in a dry run."""
    diff: str = ""
    hint: str = ""


class MemoryAccount:
    """Answers for one agent's memory."""

    def __init__(
        self,
        vault: Vault,
        searcher: Searcher,
        agent: str,
        audit: Past,
        gate: Gate,
        *,
        recall: Callable[..., Any],
        explain: Callable[[str], Explanation],
        forget: Callable[..., Any],
        facts: Callable[[], GovernedFacts],
    ) -> None:
        self._vault, self._searcher, self._agent, self._audit, self._gate = vault, searcher, agent, audit, gate
        self._recall, self._explain, self._forget, self._facts = recall, explain, forget, facts

    def changed(
        self, since: datetime | None = None, until: datetime | None = None, limit: int = 5, when: str | None = None
    ) -> Changes:
        """What changed since a time, a week ago where none is named: remembered, learned, corrected, forgotten.

        Of each sort the newest `limit` changes are told, with their numbers, by which they can be undone. `when` names
        the time in words instead: "this week", "yesterday", "since Monday".
        """
        now = self._vault.home.now()
        if when is not None:
            if since or until:
                raise InputError("a time is named twice", hint="give it in words, or as since and until")
            since, until = self._period(when, now)
        end = until or now
        start = since or end - USUAL
        if start > end:
            raise InputError("that time is over before it begins", hint="since is the earlier of the two")
        found = list(self._between(start, end))
        groups = []
        for deed, words in _TABLE["groups"].items():
            if some := [each for each in found if deed_of(each) == deed]:
                talks = _conversations(some)[:limit] if deed == SAID else []
                newest = tuple(some[:limit])
                groups.append(
                    ChangeGroup(deed=deed, words=words, count=len(some), newest=newest, conversations=tuple(talks))
                )
        notes = sorted(self._notes(start, end), key=lambda each: each.at, reverse=True)
        return Changes(
            since=start,
            until=end,
            count=len(found),
            groups=tuple(groups),
            notes=len(notes),
            newest_notes=tuple(notes[:limit]),
        )

    def _period(self, when: str, now: datetime) -> tuple[datetime, datetime]:
        """The beginning of a time that is named in words, and its end, which is not ahead."""
        zone, text = self._vault.home.zone, check_string("when", when)
        start, end = moment_of(text, now, zone, end=False), moment_of(text, now, zone, end=True)
        if start is None or end is None:
            hint = "name it like this week, yesterday, since Monday or last 3 days"
            raise InputError(f"{text[:40]!r} is not a time", hint=hint)
        return start, now if start == end else min(end, now)

    def _notes(self, start: datetime, end: datetime) -> Iterator[ChangedNote]:
        """The watched notes whose files were written between two times."""
        for folder in {each for agent in (self._agent, SHARED) for each in self._vault.settings(agent).watches}:
            for path, note in (notes_below(folder) or {}).items():
                at = datetime.fromtimestamp(note.stamp.mtime_ns / 1e9, UTC)
                if start <= at <= end and not note.problem:
                    yield ChangedNote(path=path, at=at)

    def _between(self, start: datetime, end: datetime) -> Iterator[TrailEntry]:
        before: int | None = None
        for _ in range(0, MOST, AT_ONCE):
            entries = self._audit.entries(TrailFilter(), limit=AT_ONCE, before=before)
            for each in entries:
                at = datetime.fromisoformat(each.at)
                if at < start:
                    return
                if at <= end:
                    yield each
            if len(entries) < AT_ONCE:
                return
            before = entries[-1].seq

    def why(self, text: str) -> Because:
        """Why something was said: the memories behind it, who said them and when, and what became of them since.

        `text` is what was said, or a memory's id; ids that it cites are taken at their word.
        """
        said = check_string("text", text).strip()
        cited = dict.fromkeys(each for each in ANY_ID.findall(said) if self._searcher.find(each))
        least = min(1.0, SURELY * self._vault.config.recall.fits)
        found = () if cited else self._recall(said, limit=LOOKED_AT, min_fit=least)
        telling = [hit for hit in found if _is_telling(hit, said)]
        best = max((hit.fit for hit in telling), default=0.0)
        ids = [*cited] or [hit.memory.id for hit in telling if hit.fit >= best / 2][:BEHIND]
        return Because(text=said, memories=tuple(filter(None, map(self._explained, ids))))

    def _explained(self, id: str) -> Explanation | None:
        try:
            return self._explain(id)
        except NotFoundError:  # a page's passage or a fact, which has no provenance of its own
            return None

    def forget_about(
        self, name: str, *, dry_run: bool = False, confirmed: bool = False, by: Attribution | None = None
    ) -> ForgottenAbout:
        """Forget every memory about a person or thing, and retract the facts about it.

        What is about something else and only names it is `kept`, and told; so are pages that people and agents wrote.
        To an agent it only shows what would go, until `confirmed` says that the person agreed.
        """
        name = check_string("name", name).strip()
        if name.casefold() in FUNCTION_WORDS | calendar_words() | {*_TABLE["nobody"]["words"].split()}:
            hint = "name a person or thing; `forget` takes the id of a memory, or what it says"
            raise InputError(f"{name!r} stands in many sentences that are not about it", hint=hint)
        is_shown = self._gate.acts_as_agent and not confirmed
        dry_run, more = dry_run or is_shown, {"by": by} if by else {}
        described = self._searcher.described(name, most=MOST)
        facts = self._about(name)
        pages = self._pages(name)
        if not described and not facts:
            named = f"; {', '.join(pages[:3])} names it" if pages else ""
            hint = "say it as it is written there"
            raise NotFoundError(f"nothing is remembered about {name[:60]!r}{named}", hint=hint)
        memories, diff, seqs = tuple[MemoryItem, ...](), "", list[int]()
        if going := [each.item.id for _, each in described if is_about(name, each.item.content, each.heading)]:
            done = self._forget(going, dry_run=dry_run, **more)
            memories, diff = tuple(done.memories), done.diff
            seqs += [done.receipt.seq] if done.receipt else []
        if facts and not dry_run:
            seqs += self._retract(facts, more)
        gone = {each.id for each in memories}
        return ForgottenAbout(
            name=name,
            memories=memories,
            facts=tuple(facts.values()),
            kept=tuple(each.item for _, each in described if each.item.id not in gone),
            pages=pages,
            seqs=tuple(seqs),
            diff=diff,
            hint=AGREE if is_shown else "",
        )

    def _retract(self, facts: Iterable[str], more: Mapping[str, Any]) -> list[int]:
        """Retract facts; returns the numbers of the changes."""
        before = [each.seq for each in self._audit.log(limit=1)]
        for each in facts:
            self._facts().retract(each, **more)
        newest = self._audit.log(TrailFilter(path=f"agents/{self._agent}/knowledge"), limit=AT_ONCE)
        return sorted(entry.seq for entry in newest if entry.seq > max(before, default=0))

    def _about(self, name: str) -> dict[str, str]:
        """The agent's own facts that have it as subject or object, by their ids."""
        found, retract = dict[str, str](), self._facts().retract
        for place in ("subject", "object"):
            with suppress(NotFoundError, ConflictError):
                going = retract(**{place: name}, dry_run=True)  # type: ignore[arg-type]
                found |= {each.id: " ".join(each.triple) for each in going}
        return found

    def _pages(self, name: str) -> tuple[str, ...]:
        hits = self._recall(name, limit=50)
        naming = (hit for hit in hits if name.casefold() in hit.memory.content.casefold())
        return tuple(dict.fromkeys(hit.path for hit in naming if hit.memory.id.startswith("P-")))


def is_about(name: str, content: str, heading: Iterable[str] = ()) -> bool:
    """Whether a text that names a person or thing is about it: by its title, its first sentence, or most sentences.

    Of a list, most items must name it. A sentence that has it in a row of others ("team: Kim, Robin, Alex") does not.
    """
    wanted = _words(name)
    lines = [each for each in content.splitlines() if each.strip()]
    said = "\n".join((content, *heading))
    if any(part[0].isupper() and part not in said and part.lower() in said for part in name.split()):
        return False  # "will" is not Will
    if any(wanted <= _words(each) for each in heading) or not wanted <= _words(content):
        return True
    parts, is_list = lines, len(lines) > 1 and all(map(_ITEM.match, lines))
    if not is_list:
        sentences = _SENTENCE.findall(content)
        parts = [each for each in sentences if len(each.split()) > 1] or sentences  # "Dr." is none

    def is_told(part: str) -> bool:
        row = _ROW.split(part)
        short = (each for each in row[1:] if len(each.split()) < len(name.split()) + 3)
        return wanted <= _words(part) and not (len(row) > 2 and any(wanted <= _words(each) for each in short))

    return (not is_list and is_told(parts[0])) or 2 * sum(map(is_told, parts)) > len(parts)


def _words(text: str) -> set[str]:
    return {each.casefold() for each in terms(text, limit=MOST)}


def _is_telling(hit: Hit, said: str) -> bool:
    """Whether something can be a reason: not to have asked for it, not the answer itself, nor what others are or do."""
    item = hit.memory
    is_own_word = item.role == "assistant" and said.casefold() in item.content.casefold()
    whose = " ".join(filter(None, (item.user, item.role, *hit.heading)))
    return not (hit.only_asks or hit.is_question or is_own_word or is_about_others(said, item.content, whose))


def _conversations(turns: Iterable[TrailEntry]) -> list[ConversationChanges]:
    """The conversations of turns that come newest first."""
    found: dict[str | None, list[TrailEntry]] = {}
    for each in turns:
        found.setdefault(each.session, []).append(each)
    return [ConversationChanges(session=name, count=len(said), last=said[0]) for name, said in found.items()]


def deed_of(entry: TrailEntry) -> str:
    """Return the group that a change belongs to."""
    if entry.trigger in BOOKKEEPING:
        return COUNTED
    if entry.trigger == "import":
        return "imported"
    if entry.action in _TABLE["by_action"]:
        return str(_TABLE["by_action"][entry.action])
    if entry.trigger == "edit":
        return "edited"
    if any("/knowledge/" in path for path in entry.paths):
        return "known"
    if entry.trigger in ("observe", "hook"):
        return SAID
    is_kept = [path.startswith(("agents/", "shared/")) and not path.endswith("/agent.toml") for path in entry.paths]
    if not any(is_kept):
        return "kept up"
    if entry.action is Action.APPEND:
        is_meant = entry.actor == "human" or entry.actor.startswith(("agent", "bot:trigger-remember"))
        return "remembered" if is_meant else "learned"
    return "kept up" if entry.actor == "system:tend" else "changed"
