"""Context: a prompt → what is remembered about it → ranked for the situation → packed into a budget → fenced.

It only looks: nothing counts as used by being shown. That an alert was shown is noted beside the home's files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from memfolio.errors import MemfolioError
from memfolio.index.database import Connection
from memfolio.index.pages import entity_id
from memfolio.index.profiles import Profile, profiles
from memfolio.index.ties import named
from memfolio.recall.asking import arguments
from memfolio.recall.asking.intent import is_complex
from memfolio.recall.asking.query import Query
from memfolio.recall.asking.question import names_in
from memfolio.recall.context.alerts import alert_section, unread
from memfolio.recall.context.fence import bullet, fenced
from memfolio.recall.context.lines import Drawing, about, is_fact, is_shown
from memfolio.recall.context.packing import Line, Section, pack
from memfolio.recall.context.situation import Situation
from memfolio.recall.context.standing import STANDING, StandingPage, share_room, standing_page
from memfolio.recall.context.worth import asked, fit
from memfolio.recall.hit import Hit
from memfolio.recall.library import Library
from memfolio.text import estimate_tokens, terms
from memfolio.types import MemoryItem
from memfolio.vault.vault import Vault

LEAST_BUDGET = 50
MOST_BUDGET = 1_000_000
TOKENS_PER_HIT = 50
"""For how many tokens of the budget one hit is asked for."""
FEWEST_HITS, MOST_HITS = 20, 100
MOST_PROFILES = 8
MOST_SOURCES = 3
"""How many of the memories that a fact was derived from are shown."""
LOOKED_AT = 12
"""How many of them are looked at for that."""
REMINDERS = "To be done, which comes up now"

Remind = Callable[[str], Iterable[tuple[str, str]]]
"""The ids and words of what comes up by itself when something is talked about."""


def _nothing(_: str) -> Iterable[tuple[str, str]]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What an agent should have before its eyes: the fenced text, None where nothing is worth it, and what is in it."""

    text: str | None
    tokens: int
    budget: int
    ids: tuple[str, ...] = ()
    """The memories whose words are in it, in their order."""
    degraded: tuple[str, ...] = ()
    crowded: tuple[str, ...] = ()
    """The standing pages that were asked for and have no room in the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be put together: for which prompt and situation, how much, and which standing pages with it."""

    prompt: str
    budget: int
    situation: Situation
    include: tuple[str, ...] = ()
    known: Set[str] = frozenset()
    """The ids of what the agent has before its eyes: it is left out."""

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
        text = arguments.text("the prompt", prompt)
        return cls(
            prompt=text,
            budget=_budget(vault, text, budget),
            situation=Situation(
                now=vault.home.now(),
                user=arguments.telling("user", user),
                task=arguments.optional("task", task),
                topics=arguments.words("topic", topics),
            ),
            include=_include(arguments.words("include", include)),
            known=frozenset(known),
        )


def compose(library: Library, vault: Vault, agent: str, request: Request, remind: Remind = _nothing) -> Context:
    """The context for a prompt; whatever cannot take part is named in `degraded`, as by recall."""
    return _Composer(library, vault, agent, request, remind).compose()


class _Composer:
    """The steps from a request to its context, which share what they were given."""

    def __init__(self, library: Library, vault: Vault, agent: str, request: Request, remind: Remind) -> None:
        self._remind = remind
        self._library = library
        self._vault = vault
        self._agent = agent
        self._request = request
        self._weights = vault.config.context
        self._degraded: dict[str, None] = {}
        self._crowded: list[str] = []
        words = dict.fromkeys([*terms(request.prompt), *terms(request.situation.about)])
        self._drawing = Drawing(zone=vault.home.zone, words=tuple(words), budget=request.budget)

    def compose(self) -> Context:
        room = self._request.budget - estimate_tokens(fenced([])) - 1
        alerts = self._alerts(room // 2)
        room -= sum(section.whole for section in alerts)
        reminders = self._reminders(room // 4)
        room -= sum(section.whole for section in reminders)
        standing = self._standing(room // 2)
        left = room - sum(section.whole for section in standing)
        said = [line.says for section in (*reminders, *standing) for line in section.lines]
        return self._fenced(alerts, [*reminders, *standing, *pack(self._sections(self._hits()), left, said)])

    def _alerts(self, room: int) -> list[Section]:
        """What the owner must be told, once to each agent."""
        try:
            return alert_section(unread(self._vault, self._library, self._agent, room), room)
        except MemfolioError as error:
            self._degraded[f"alerts: {error.message}"] = None
            return []

    def _reminders(self, room: int) -> list[Section]:
        """What was to be done when this time or this topic comes."""
        about = f"{self._request.prompt}\n{self._request.situation.about}"
        try:
            due = list(self._remind(about))
        except MemfolioError as error:
            self._degraded[f"reminders: {error.message}"] = None
            return []
        lines = tuple(Line(id=each, text=bullet(f"[{each}]", text), says=text) for each, text in due)
        return pack([Section(title=REMINDERS, share=1.0, lines=lines)], room)

    def _fenced(self, alerts: Sequence[Section], sections: Sequence[Section]) -> Context:
        shown = [line for section in (*alerts, *sections) for line in section.shown()]
        text = fenced(shown) if shown else None
        return Context(
            text=text,
            tokens=estimate_tokens(text or ""),
            budget=self._request.budget,
            ids=tuple(dict.fromkeys(line.id for section in sections for line in section.lines if line.is_memory)),
            degraded=tuple(self._degraded),
            crowded=tuple(self._crowded),
        )

    def _standing(self, room: int) -> list[Section]:
        """The pages that were asked for, in at most so many tokens."""
        pages = list(self._pages())
        sections = list(zip(pages, share_room(pages, room), strict=True))
        self._crowded += [page.name for page, section in sections if section is None]
        return [section for _, section in sections if section]

    def _pages(self) -> Iterator[StandingPage]:
        for name in self._request.include:
            try:
                page = standing_page(self._vault, self._agent, name)
            except MemfolioError as error:  # one bad file never stops the others
                self._degraded[f"{name}: {error.message}"] = None
                continue
            if page:
                yield page

    def _hits(self) -> list[Hit]:
        """What is worth its tokens, ranked for the situation: by the prompt, and less by what is at hand beside it."""
        situation, weights = self._request.situation, self._weights
        prompt = self._request.prompt
        found = [(hit.score, hit) for hit in self._recalled(prompt, situation.speaker(prompt))]
        found += [(weights.task * hit.score, hit) for hit in self._recalled(situation.about)]
        worth = sorted((each for each in found if each[0] >= weights.least), key=lambda each: each[0])
        best = {hit.memory.id: (score * situation.nearness(hit.memory, weights), hit) for score, hit in worth}
        return [hit for _, hit in sorted(best.values(), key=lambda each: (-each[0], each[1].memory.id))]

    def _recalled(self, text: str, speaker: str | None = None) -> list[Hit]:
        """What fits a text well enough; nothing for small talk, and not the text itself.

        Who says `I` is looked for by name.
        """
        if not asked(text):
            return []
        question = f"{text} {speaker}" if speaker else text
        most = max(FEWEST_HITS, self._request.budget // TOKENS_PER_HIT) + len(self._request.known)
        limit = min(MOST_HITS, most)
        now, zone = self._request.situation.now, self._vault.home.zone
        query, ranking = Query.from_args(question, now=now, zone=zone, limit=limit), self._vault.config.recall
        hits = self._library.recall(
            query, replace(ranking, originals=False)
        )  # facts and events have places of their own
        self._degraded.update(dict.fromkeys(hits.degraded))
        known = self._request.known
        others = [hit for hit in hits if is_shown(hit.memory) and hit.memory.id not in known]
        others = [hit for hit in others if not hit.only_asks and _folded(hit.memory.content) != _folded(text)]
        fits = fit(asked(question), others, self._vault.config.recall.vector)
        return others if fits >= self._weights.anchor else []

    def _sections(self, hits: Sequence[Hit]) -> list[Section]:
        """All that could be shown, by its kind."""
        weights, draw = self._weights, self._drawing
        facts = [hit for hit in hits if is_fact(hit.memory) and not entity_id(hit.path)]
        events = tuple(draw.event(hit) for hit in hits if not is_fact(hit.memory))
        people = tuple(self._profiles(hits)) if hits else ()
        return [
            Section(title="Facts", share=weights.facts, lines=tuple(map(draw.fact, facts))),
            Section(title="People and things", share=weights.entities, lines=people),
            Section(title="What happened", share=weights.temporal, lines=events, is_in_order=True),
            Section(title="Evidence", share=weights.evidence, lines=tuple(self._evidence(facts))),
        ]

    def _profiles(self, hits: Sequence[Hit]) -> Iterator[Line]:
        """Who and what the prompt names, and whom it is for, then who and what the hits are about."""
        text = f"{self._request.prompt}\n{self._request.situation.user or ''}"
        telling = {term.casefold() for term in terms(text)}
        names = [name for name in names_in(text) if telling & set(name.split())]
        others = [each for hit in hits for each in about(hit)]
        for index in self._library.indexes():
            for profile in index.read(lambda connection: _profiles(connection, names, others)):
                yield self._drawing.profile(profile, [hit for hit in hits if entity_id(hit.path) == profile.id])

    def _evidence(self, facts: Sequence[Hit]) -> Iterator[Line]:
        """The beginnings of what the facts were derived from."""
        for fact in (hit.memory for hit in facts):
            for source in self._sources(fact):
                yield self._drawing.source(source, of=fact.id)

    def _sources(self, fact: MemoryItem) -> list[MemoryItem]:
        """Some of what a fact was derived from: what lies in the archive only where there is nothing else."""
        located = [self._library.locate(source) for source in fact.derived_from[:LOOKED_AT]]
        found = [each for _, each in filter(None, located) if is_shown(each.item)]
        at_hand = [each for each in found if not each.archived] or found
        return [each.item for each in at_hand[:MOST_SOURCES]]


def _profiles(connection: Connection, names: Sequence[str], others: Sequence[str]) -> list[Profile]:
    return profiles(connection, dict.fromkeys([*named(connection, names), *others]))[:MOST_PROFILES]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _include(names: tuple[str, ...]) -> tuple[str, ...]:
    """In the order in which they are shown."""
    given = arguments.known("include", names, STANDING)
    return tuple(name for name in STANDING if name in given)


def _budget(vault: Vault, prompt: str, value: object) -> int:
    """The tokens that a context may have: as given, else by how much the prompt asks for."""
    if value is None:
        sizes = vault.config.context
        return sizes.complex if is_complex(prompt, terms(prompt)) else sizes.simple
    return arguments.number("budget", value, LEAST_BUDGET, MOST_BUDGET)
