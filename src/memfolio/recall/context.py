"""Context for a prompt: recall, rank for the situation, pack into a budget, and fence."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from memfolio.arguments import check_string
from memfolio.errors import MemfolioError
from memfolio.index.graph import named, nodes_of
from memfolio.index.lookup import overview
from memfolio.index.read_files import body_text, entity_id
from memfolio.learn.learned import moment
from memfolio.recall import query
from memfolio.recall.current import asks_before
from memfolio.recall.dates import LEXICON, pattern, words
from memfolio.recall.fence import bullet, fenced
from memfolio.recall.hit import Hit, snippet
from memfolio.recall.once import Telling, asked_stems, merged
from memfolio.recall.pack import ContextLine, ContextSection, LineFormat, about, folded, is_fact, is_shown, pack
from memfolio.recall.query import Query
from memfolio.recall.question import Intent, by_words, is_broad, is_complex, names_in
from memfolio.recall.searcher import EASE, Searcher
from memfolio.settings import Packing
from memfolio.text import estimate_tokens, terms
from memfolio.types import MemoryItem, frozen
from memfolio.vault.alerts import changes_of, note_seen, unseen
from memfolio.vault.fields import local
from memfolio.vault.journal import TrailLine, to_text
from memfolio.vault.paths import SHARED, Sensitivity, agent_of, agent_root, sensitivity
from memfolio.vault.vault import Vault

T = TypeVar("T")

# The situation in which something is recalled: for whom, at what, when; and how near a memory is to it. Pure.

_WORD = re.compile(r"\w+")
DAY = 86_400


@frozen
class Situation:
    """Whom an agent talks with, its task, the current topics, and the time."""

    now: datetime
    user: str | None = None
    task: str | None = None
    topics: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """The task and topics, as words to recall by."""
        return " ".join(filter(None, (self.task, *self.topics)))

    def speaker(self, prompt: str) -> str | None:
        """Return whom a prompt means by `I` and `my`: the user, if known and if it says so."""
        return self.user if speaks_of_self(prompt) else None

    def is_unknown_speaker(self, prompt: str) -> bool:
        """Whether somebody says `I` or `my` of whom nothing is known."""
        return self.user is None and speaks_of_self(prompt)

    def nearness(self, memory: MemoryItem, weights: Packing) -> float:
        """Return the factor for a memory's score: 1 if it is unrelated to the situation."""
        days = abs((self.now - moment(memory)).total_seconds()) / DAY
        time = weights.time / (1 + days / weights.time_days)
        return self._ownership(memory, weights) * (1 + time) * (1 + weights.topic * self._overlap(memory))

    def _ownership(self, memory: MemoryItem, weights: Packing) -> float:
        """Favour memories about the user over those about somebody else."""
        if self.user is None or memory.user is None:
            return 1.0
        return 1 + weights.user if memory.user == self.user else 1 / (1 + weights.user)

    def _overlap(self, memory: MemoryItem) -> int:
        """How many of the topics a memory has among its tags, or in its words, to which its entities belong."""
        if not self.topics:
            return 0
        known = _words(" ".join((memory.content, *memory.tags)))
        return sum(bool(words) and words <= known for words in {frozenset(_words(each)) for each in self.topics})


def speaks_of_self(prompt: str) -> bool:
    return not words("own").isdisjoint(_WORD.findall(prompt.casefold()))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


# Pages that stand at the head of a context when they are asked for: core memory, and where work was left.

CORE, CHECKPOINT = "core", "checkpoint"
STANDING = {CORE: "Core memory", CHECKPOINT: "Latest checkpoint"}
"""Pages that can be included, with their titles."""
CHECKPOINTS = "memory/checkpoints"
TRIED = 5
"""How many of the newest are tried, in case one is empty or no file."""
_CHECKPOINT = re.compile(r"\d{4}-\d\d-\d\d(?:-\d+)*\.md", re.ASCII)


@frozen
class StandingPage:
    """Such a page: what it was asked for as, where it lies in the agent's folder, and its lines, at least one."""

    name: str
    inside: str
    lines: tuple[str, ...]

    @property
    def whole(self) -> int:
        """The cost of the whole page."""
        return self._section().cost + _line(self.inside, self.lines).cost

    def cut(self, room: int) -> ContextSection | None:
        """Return what fits into so many tokens; None if nothing does."""
        line = _cut(self.inside, self.lines, room - self._section().cost)
        return self._section(line) if line else None

    def _section(self, *lines: ContextLine) -> ContextSection:
        return ContextSection(title=STANDING[self.name], share=1.0, lines=lines)


_PROJECT = re.compile(r"(?m)^<!-- project: (\S+) -->$")


def project_in(text: str) -> str:
    """Return the project that a checkpoint is about; empty if it names none."""
    found = _PROJECT.search(text)
    return found[1] if found else ""


def is_in_project(project: str, projects: Sequence[str]) -> bool:
    """Whether something of a project may be shown in one with these keys; without any, always."""
    return not projects or not project or project[-8:] in projects


def standing_page(vault: Vault, searcher: Searcher, agent: str, name: str) -> StandingPage | None:
    """The page that a name asks for, not of another project; None where there is none, or nothing to be heard on it."""
    root, projects = agent_root(agent), searcher.projects
    if name == CHECKPOINT and not searcher.hears_pages():
        return None
    for inside in ["MEMORY.md"] if name == CORE else checkpoints(vault, root)[:TRIED]:
        page = vault.page(f"{root}/{inside}")
        text = searcher.audible(to_text(page.content)) if page else ""
        lines = [line for line in body_text(_PROJECT.sub("", text)).splitlines() if line.strip()]
        is_telling = not all(line.startswith("#") for line in lines)
        if is_telling and is_in_project(project_in(text), projects):
            return StandingPage(name=name, inside=inside, lines=tuple(lines))
    return None


def share_room(pages: Sequence[StandingPage], room: int) -> list[ContextSection | None]:
    """What of each page fits: each has an equal part, and what one does not need goes to the others.

    Where that is too little for one of them, the first takes what it can use.
    """
    fair = [page.cut(part) for page, part in zip(pages, _parts([page.whole for page in pages], room), strict=True)]
    if None not in fair:
        return fair
    found: list[ContextSection | None] = []
    for page in pages:
        found.append(page.cut(room - sum(section.whole for section in found if section)))
    return found


def _parts(wanted: Sequence[int], room: int) -> list[int]:
    """Equal parts of a room, but to nobody more than is wanted."""
    parts = [0] * len(wanted)
    for done, nth in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        parts[nth] = min(wanted[nth], (room - sum(parts)) // (len(wanted) - done))
    return parts


def checkpoints(vault: Vault, root: str) -> list[str]:
    """Return the checkpoints of an agent, newest first by name: a time, with a suffix if two are equal."""
    names = vault.names(f"{root}/{CHECKPOINTS}")
    dated = {name: [int(part) for part in re.findall(r"\d+", name)] for name in names if _CHECKPOINT.fullmatch(name)}
    return [f"{CHECKPOINTS}/{name}" for name in sorted(dated, key=dated.__getitem__, reverse=True)]


def _cut(name: str, lines: Sequence[str], room: int) -> ContextLine | None:
    """As many lines of a page as there is room for; of a page with one long line, the beginning of that."""
    if not lines:
        return None
    whole = _line(name, lines)
    if whole.cost <= room:
        return whole
    note = f"(cut here: {name} goes on)"
    count = bisect_right(range(1, len(lines)), room, key=lambda count: _line(name, [*lines[:count], note]).cost)
    kept = lines[:count] or [_beginning(lines[0], max(0, room - _line(name, ["", note]).cost - 1))]
    cut = _line(name, [*kept, note])
    return cut if kept[0] and cut.cost <= room else None


def _beginning(line: str, tokens: int) -> str:
    """Return the beginning of a line; of one endless word, its first letters."""
    return snippet(line, (), tokens) or (f"{line[: tokens // 2]}…" if tokens > 4 else "")


def _line(name: str, lines: Sequence[str]) -> ContextLine:
    text = "\n".join(lines)
    return ContextLine(id=name, text=bullet(f"[{name}]", text), says=text)


# Whether a prompt calls for memories at all. Pure.

_QUESTIONS = (Intent.WHY, Intent.WHEN, Intent.WHO, Intent.WHAT, Intent.HOW)


def asked(prompt: str) -> list[str]:
    """The words of a prompt that memories may have something to say about; none for small talk."""
    rest = pattern("greeting").sub(" ", prompt)
    words = terms(rest)
    if not any(map(_tells, words)) and not (_is_question(rest) and any(map(_may_tell, words))):
        return []
    return words if rest == prompt else terms(prompt)


def _is_question(text: str) -> bool:
    return "?" in text or "？" in text or by_words(text) in _QUESTIONS


def _tells(word: str) -> bool:
    return _may_tell(word) and word.casefold() not in words("polite_or_asked")


def _may_tell(word: str) -> bool:
    return word.casefold() not in words("polite") and (len(word) > 2 or not word.isascii() or word.isupper())


# Alerts in words: what is the matter, what it is about and what to do; and as the first section of a context.
#
# The trail has no content, so the words of memories are looked up when an alert is shown.

TITLE = "From memfolio itself: tell the owner"
MOST = 3
MANY = 50
"""How many of the newest are looked at: somebody may raise thousands."""
WORDS = 40
"""Tokens of the words of one memory."""
GRAVEST = ("critical-file", "trail-cut", "trail-altered")
_PLAIN = re.compile(r"(?:(?:agents/[a-z0-9-]{1,64}|shared)/)?[A-Za-z]{1,20}\.[a-z]{1,8}")
"""A path that has no room for anybody's words."""
Changes = Mapping[int, TrailLine]


def describe(vault: Vault, searcher: Searcher, line: TrailLine) -> str:
    """Describe an alert for a person: first the problem on one line, then its subject and what to do."""
    return _describe(vault, searcher, line, changes_of(vault, [line]))


def _describe(vault: Vault, searcher: Searcher, line: TrailLine, changes: Changes) -> str:
    kind, what, since = f"{line.by.trigger}::".split(":", 3)[:3]
    values: dict[str, object] = {"what": what, "since": since}
    if kind == "critical-file":
        change = next((changes[seq] for seq in line.about if seq in changes), None)
        kind = "critical-file" if change else "critical-file-unknown"
        values |= _changed(vault, change) if change else {}
    elif kind == "contradiction":
        values["facts"] = "\n".join(_fact(searcher, each) for each in line.ids)
    values["changes"] = f" (change {', '.join(map(str, line.about))})" if line.about else ""
    values["undo"] = "; ".join(f"`memfolio undo {seq}`" for seq in line.about)
    texts = LEXICON.table("alerts")
    return str(texts.get(kind, texts["trail"])).format(**values)


def _changed(vault: Vault, change: TrailLine) -> dict[str, object]:
    critical = [path for path in change.paths if sensitivity(path) is Sensitivity.CRITICAL]
    names = ", ".join(path if _PLAIN.fullmatch(path) else f"…/{path.rpartition('/')[2]}" for path in critical)
    at = local(datetime.fromisoformat(change.at), vault.home.zone)
    return {"names": names, "actor": change.by.actor[:60], "at": at, "seq": change.seq}


def _fact(searcher: Searcher, id: str) -> str:
    """Return a memory on one line, with its text if it may be shown."""
    found = searcher.locate(id)
    if found is None or not is_shown(found[1].item):
        return f"[{id}] does not stand here any more, or is another agent's"
    return f"[{id}] {' '.join(snippet(found[1].item.content, (), WORDS).split())}"


def unread(vault: Vault, searcher: Searcher, agent: str, room: int, *, is_noted: bool = True) -> tuple[str, ...]:
    """The open alerts that this agent was not shown yet, the gravest first; none as long as there is no room for them.

    Those about the files and memories of other agents are not for it. With `is_noted`, they count as shown then.
    """
    alerts = unseen(vault, agent, is_noted=is_noted)
    changes = changes_of(vault, alerts[-MANY:])
    due = [line for line in alerts[-MANY:] if _concerns(line, changes, agent)]
    due.sort(key=lambda line: line.by.trigger.partition(":")[0] not in GRAVEST)
    texts = [f"[alert {line.seq}] {_describe(vault, searcher, line, changes)}" for line in due[:MOST]]
    if len(due) > MOST:
        texts.append(f"[alerts] and {len(due) - MOST + len(alerts[:-MANY])} more: `memfolio alerts`")
    if texts and not alert_section(texts, room):
        return ()
    if alerts and is_noted:
        note_seen(vault, agent, alerts[-1].seq)
    return tuple(texts)


def alert_section(texts: Iterable[str], room: int) -> list[ContextSection]:
    """The section at the top of a context, as far as it has room."""
    lines = tuple(ContextLine(id=text, text=bullet("", text).replace("-  ", "- ", 1), says=text) for text in texts)
    return pack([ContextSection(title=TITLE, share=1.0, lines=lines)], room)


def _concerns(line: TrailLine, changes: Changes, agent: str) -> bool:
    """Whether an alert is about this agent's files and memories, those that all share, or the home."""
    changed = [path for seq in line.about if seq in changes for path in changes[seq].paths]
    owners = set(map(agent_of, changed)) or {line.by.source}
    return not owners.isdisjoint((agent, SHARED, None))


# Context: a prompt → what is remembered about it → ranked for the situation → packed into a budget → fenced.
#
# It only looks: nothing counts as used by being shown. That an alert was shown is noted beside the home's files.

LEAST_BUDGET = 50
MOST_BUDGET = 1_000_000
TOKENS_PER_HIT = 165
"""For how many tokens of the budget one memory is shown at most."""
FEWEST_HITS, MOST_HITS = 16, 100
"""The most hits for a small budget, and for the largest."""
MOST_PROFILES = 8
MOST_SOURCES = 3
"""How many of the memories that a fact was derived from are shown."""
SOURCES_SHOWN = 12
"""How many of them are considered for that."""
REMINDERS = "Due now"
CURRENT, PAST = "What holds now", "What was so before"

Remind = Callable[[str], Iterable[tuple[str, str]]]
"""Returns ids and texts of reminders that a topic brings up."""


def _nothing(_: str) -> Iterable[tuple[str, str]]:
    return ()


@frozen
class Context:
    """What an agent should have before its eyes: the fenced text, None where nothing is worth it, and what is in it."""

    text: str | None
    tokens: int
    budget: int
    ids: tuple[str, ...] = ()
    """The memories whose words are in it, in their order; each is followed by those that say nothing else."""
    degraded: tuple[str, ...] = ()
    crowded: tuple[str, ...] = ()
    """The standing pages that were asked for and have no room in the budget."""


@frozen
class Request:
    """What is to be put together: for which prompt and situation, how much, and which standing pages with it."""

    prompt: str
    budget: int
    situation: Situation
    include: tuple[str, ...] = ()
    known: Set[str] = frozenset()
    """The ids that the agent has seen already; they are left out."""

    @classmethod
    def from_args(
        cls,
        vault: Vault,
        prompt: object,
        *,
        budget: object,
        user: object,
        task: object,
        topics: object,
        include: object,
        known: Iterable[str] = (),
    ) -> Request:
        """The request that these arguments mean; InputError says which of them cannot be."""
        text = check_string("the prompt", prompt)
        return cls(
            prompt=text,
            budget=_budget(vault, text, budget),
            situation=Situation(
                now=vault.home.now(),
                user=query.telling("user", user),
                task=query.check_optional("task", task),
                topics=query.words("topic", topics),
            ),
            include=_include(query.words("include", include)),
            known=frozenset(known),
        )


def compose(searcher: Searcher, vault: Vault, agent: str, request: Request, remind: Remind = _nothing) -> Context:
    """The context for a prompt; whatever cannot take part is named in `degraded`, as by recall."""
    return _Composer(searcher, vault, agent, request, remind).compose()


@frozen
class ContextPreview:
    """A preview of a context for a person: the sections, and the reasons."""

    context: Context
    sections: tuple[ContextSection, ...]
    hits: Mapping[str, Hit]
    """The hits for the prompt that could be shown, by id."""


def preview(
    searcher: Searcher, vault: Vault, agent: str, request: Request, remind: Remind = _nothing
) -> ContextPreview:
    """`compose`, only to look at: no alert counts as shown to the agent."""
    composer = _Composer(searcher, vault, agent, request, remind, is_preview=True)
    context = composer.compose()
    hits = {hit.memory.id: hit for hit in composer.hits}
    return ContextPreview(context=context, sections=tuple(composer.sections), hits=hits)


class _Composer:
    """The steps from a request to its context."""

    def __init__(
        self,
        searcher: Searcher,
        vault: Vault,
        agent: str,
        request: Request,
        remind: Remind,
        *,
        is_preview: bool = False,
    ) -> None:
        self._searcher, self._vault, self._agent, self._request, self._remind = searcher, vault, agent, request, remind
        self._is_preview = is_preview
        self.sections: list[ContextSection] = []
        self.hits: list[Hit] = []
        self._weights = vault.config.context
        self._degraded: dict[str, None] = {}
        self._crowded: list[str] = []
        words = dict.fromkeys([*terms(request.prompt), *terms(request.situation.about)])
        self._format = LineFormat(zone=vault.home.zone, words=tuple(words), budget=request.budget)
        self._telling = Telling(asked_stems(words))

    def compose(self) -> Context:
        room = self._request.budget - estimate_tokens(fenced([])) - 1
        alerts = self._alerts(room // 2)
        room -= sum(section.whole for section in alerts)
        reminders = self._reminders(room // 4)
        room -= sum(section.whole for section in reminders)
        standing = self._standing(room // 2)
        left = room - sum(section.whole for section in standing)
        said = [line.says for section in (*reminders, *standing) for line in section.lines]
        due = {line.id for section in reminders for line in section.lines}
        self.hits = [hit for hit in self._hits() if hit.memory.id not in due]
        pages = [hit for hit in self.hits if entity_id(hit.path)]  # which become profiles
        told = self._telling.hits([hit for hit in self.hits if hit not in pages])
        return self._fenced(alerts, [*reminders, *standing, *pack(self._sections([*told, *pages]), left, said)])

    def _attempt(self, name: str, work: Callable[[], T]) -> T | None:
        """Run a part of the composition; if it fails, the context goes without it and says so."""
        try:
            return work()
        except MemfolioError as error:
            self._degraded[f"{name}: {error.message}"] = None
            return None

    def _alerts(self, room: int) -> list[ContextSection]:
        """Return alerts for the owner, once per agent."""
        return alert_section(
            self._attempt(
                "alerts",
                lambda: unread(self._vault, self._searcher, self._agent, room, is_noted=not self._is_preview),
            )
            or (),
            room,
        )

    def _reminders(self, room: int) -> list[ContextSection]:
        """Return reminders that this time or topic brings up."""
        about = f"{self._request.prompt}\n{self._request.situation.about}"
        due = self._attempt("reminders", lambda: list(self._remind(about))) or ()
        lines = tuple(ContextLine(id=each, text=bullet(f"[{each}]", text), says=text) for each, text in due)
        return pack([ContextSection(title=REMINDERS, share=1.0, lines=lines)], room)

    def _fenced(self, alerts: Sequence[ContextSection], sections: Sequence[ContextSection]) -> Context:
        self.sections = [*alerts, *sections]
        shown = [line for section in self.sections for line in section.shown()]
        lines = [line for section in sections for line in section.lines if line.is_memory]
        ids = [each for line in lines for each in (line.id, *line.others)]
        text = fenced(shown) if shown else None
        return Context(
            text=text,
            tokens=estimate_tokens(text or ""),
            budget=self._request.budget,
            ids=merged(ids, self._telling.sources),
            degraded=tuple(self._degraded),
            crowded=tuple(self._crowded),
        )

    def _standing(self, room: int) -> list[ContextSection]:
        """The pages that were asked for, in at most so many tokens."""
        found = [
            self._attempt(name, partial(standing_page, self._vault, self._searcher, self._agent, name))
            for name in self._request.include
        ]
        pages = [page for page in found if page]
        sections = list(zip(pages, share_room(pages, room), strict=True))
        self._crowded += [page.name for page, section in sections if section is None]
        return [section for _, section in sections if section]

    def _hits(self) -> list[Hit]:
        """Return the hits worth their tokens, ranked for the situation: by the prompt, and less by the task."""
        situation, weights = self._request.situation, self._weights
        prompt = self._request.prompt
        found = [(hit.score, hit) for hit in self._recalled(prompt, situation.speaker(prompt))]
        found += [(weights.task * hit.score, hit) for hit in self._recalled(situation.about)]
        found.sort(key=lambda each: each[0])
        best = {hit.memory.id: (score * situation.nearness(hit.memory, weights), hit) for score, hit in found}
        return [hit for _, hit in sorted(best.values(), key=lambda each: (-each[0], each[1].memory.id))]

    def _recalled(self, text: str, speaker: str | None = None) -> list[Hit]:
        """Return what fits a text well enough, if anything is likely to answer it; nothing for small talk.

        The user is added by name if the text says `I`.
        """
        if not asked(text):
            return []
        question = f"{text} {speaker}" if speaker else text
        known = self._request.known
        most = min(MOST_HITS, max(FEWEST_HITS, self._request.budget // TOKENS_PER_HIT))
        now, zone = self._request.situation.now, self._vault.home.zone
        ease = self._searcher.ease(text)
        least = (ease if ease <= EASE else 1) * self._weights.least * (self._weights.broad if is_broad(text) else 1)
        query = Query.from_args(question, now=now, zone=zone, limit=min(MOST_HITS, most + len(known)), min_fit=least)
        # Facts and events have places of their own.
        ranking = replace(self._vault.config.recall, originals=False)
        hits = self._searcher.recall(query, ranking)
        self._degraded.update(dict.fromkeys(hits.degraded))
        shown = [hit for hit in hits if is_shown(hit.memory) and hit.memory.id not in known and not hit.only_asks]
        said = folded(text)
        shown = [hit for hit in shown if folded(hit.memory.content) != said and not hit.is_prompt_only][:most]
        if self._request.situation.is_unknown_speaker(text):  # what is known about others is no answer
            shown = [hit for hit in shown if hit.memory.user is None]
        return shown if self._searcher.fits(shown, ease, ranking.fits) else []

    def _sections(self, hits: Sequence[Hit]) -> list[ContextSection]:
        """All that could be shown, by its kind."""
        weights, draw = self._weights, self._format
        by_id = {hit.memory.id: hit for hit in hits}
        newer = {hit.memory.id: [by_id[each] for each in hit.replaces if each in by_id] for hit in hits if hit.is_newer}
        older = {hit.memory.id for some in newer.values() for hit in some}
        is_past = asks_before(self._request.prompt)
        current = tuple(draw.current(by_id[each], some, is_past=is_past) for each, some in newer.items())
        rest = [hit for hit in hits if hit.memory.id not in older and hit.memory.id not in newer]
        facts = [hit for hit in rest if is_fact(hit.memory) and not entity_id(hit.path)]
        events = tuple(draw.event(hit) for hit in rest if not is_fact(hit.memory))
        people = tuple(self._profiles(hits)) if hits else ()
        return [
            ContextSection(
                title="What was so before" if is_past else "What holds now", share=weights.facts, lines=current
            ),
            ContextSection(title="Facts", share=weights.facts, lines=tuple(map(draw.fact, facts))),
            ContextSection(title="People and things", share=weights.entities, lines=people),
            ContextSection(title="What happened", share=weights.temporal, lines=events, is_in_order=True),
            ContextSection(title="Evidence", share=weights.evidence, lines=tuple(self._evidence(facts))),
        ]

    def _profiles(self, hits: Sequence[Hit]) -> Iterator[ContextLine]:
        """Yield profiles: of entities in the prompt, of the user, then of entities in the hits."""
        indexes = [index for index in self._searcher.indexes() if index.read(overview).has_entities]
        if not indexes:
            return
        text = f"{self._request.prompt}\n{self._request.situation.user or ''}"
        telling = {term.casefold() for term in terms(text)}
        names = [name for name in names_in(text) if telling & set(name.split())]
        others = [each for hit in hits for each in about(hit)]
        for index in indexes:
            meant = index.read(partial(named, names=names))
            for profile in index.read(partial(nodes_of, ids=[*meant, *others]))[:MOST_PROFILES]:
                passages = [hit for hit in hits if entity_id(hit.path) == profile.id]
                # What is only met on the way is told as far as it is about what is asked.
                is_wanted = self._telling.is_news if profile.id in meant else self._telling.is_asked_news
                yield self._format.profile(profile, passages, is_wanted)

    def _evidence(self, facts: Sequence[Hit]) -> Iterator[ContextLine]:
        """Yield the beginnings of the sources of the facts."""
        for fact in (hit.memory for hit in facts):
            for source in self._sources(fact):
                if rest := self._telling.beyond(source, fact):
                    yield self._format.source(replace(source, content=rest), of=fact.id)

    def _sources(self, fact: MemoryItem) -> list[MemoryItem]:
        """Some of what a fact was derived from: what lies in the archive only where there is nothing else."""
        located = [self._searcher.locate(source) for source in fact.derived_from[:SOURCES_SHOWN]]
        found = [each for _, each in filter(None, located) if is_shown(each.item)]
        at_hand = [each for each in found if not each.archived] or found
        return [each.item for each in at_hand[:MOST_SOURCES]]


def _include(names: tuple[str, ...]) -> tuple[str, ...]:
    """In the order in which they are shown."""
    given = query.known("include", names, STANDING)
    return tuple(name for name in STANDING if name in given)


def _budget(vault: Vault, prompt: str, value: object) -> int:
    """Return the token budget: as given, else by the complexity of the prompt."""
    if value is None:
        sizes = vault.config.context
        return sizes.complex if is_complex(prompt, terms(prompt)) else sizes.simple
    return query.check_number("budget", value, LEAST_BUDGET, MOST_BUDGET)
