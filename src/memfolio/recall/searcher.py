"""Everything an agent can look up: the indexes in its scope, with an embedder beside them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast

from memfolio.arguments import ANY_ID, one_id
from memfolio.clock import EPOCH
from memfolio.embed.choose import open_embedder
from memfolio.embed.embedder import Embedder
from memfolio.embed.vectorizer import SOME, Embedded, Vectorizer, Worker
from memfolio.errors import ConflictError, EmbedderError, MemfolioError, NotFoundError, SearchIndexError
from memfolio.index.database import Connection
from memfolio.index.graph import named, names_of
from memfolio.index.index import HeardIndex, Index, Progress
from memfolio.index.lookup import Located, Place, by_id, by_ids, by_rows, lines_about, newest, places
from memfolio.index.maintenance import dormant
from memfolio.index.notes import NOTE
from memfolio.index.rows import to_us
from memfolio.index.search import ARCHIVED, Filter, ShortTerm, Sieve, has_private, has_unheard, is_known, matches, size
from memfolio.index.vectors import count_pending
from memfolio.index.watch import Watcher
from memfolio.recall.explain import Explanation, explain
from memfolio.recall.hit import Hit, Hits, asks
from memfolio.recall.query import Query
from memfolio.recall.question import Intent, Question
from memfolio.recall.recall import IndexSurvey, Search
from memfolio.settings import Ranking
from memfolio.text import counted, every_word
from memfolio.types import ID_PATTERN, MemoryItem
from memfolio.vault.agents import EVERYBODY, AgentSettings, agent_file
from memfolio.vault.fields import local
from memfolio.vault.journal import Record
from memfolio.vault.past.past import PURGED, Event, last_out
from memfolio.vault.paths import CONFIG, GITIGNORE, SHARED, agent_of, day_of
from memfolio.vault.vault import Vault

# Whose memory an agent may read: its own, and that of those whom its `agent.toml` names.

SETTLED = 2 * 10**9
"""Nanoseconds after which a file that changes once more is sure to get another time."""


class Scope:
    """The indexes that one agent reads. Each is opened when it is first asked; asking which costs a look at the disk.

    Settings that make no sense open nothing: then the agent reads its own memory only, and `trouble` says why.
    """

    def __init__(self, vault: Vault, agent: str) -> None:
        self.own = Index(vault, agent)
        self.trouble: str | None = None
        self._vault, self._agent = vault, agent
        self._known: dict[str, Index] = {agent: self.own}
        self._file = agent_file(agent)
        self._seen: tuple[tuple[int, int, int] | None, tuple[str, ...]] | None = None

    def indexes(self) -> list[Index]:
        """Its own index, then those of the others that have a folder at the moment."""
        names = dict.fromkeys((self._agent, *self._others()))
        for name in names.keys() - self._known.keys():
            self._known.setdefault(name, Index(self._vault, name))
        return [self._known[name] for name in names]

    def _others(self) -> list[str]:
        reads = self._reads()
        if EVERYBODY in reads:
            return sorted(self._vault.agents(), key=lambda name: (name != SHARED, name))
        return [name for name in reads if self._vault.has_agent(name)]

    def _reads(self) -> tuple[str, ...]:
        """What the settings say; they are read again when their file has changed, or may have."""
        look = self._vault.glance(self._file)
        if self._seen is None or self._seen[0] != look:
            reads = self._settings(has_file=look is not None)
            is_settled = look is None or time.time_ns() - look[0] > SETTLED
            self._seen = (look, reads) if is_settled else None
            return reads
        return self._seen[1]

    def _settings(self, *, has_file: bool) -> tuple[str, ...]:
        try:
            settings = self._vault.settings(self._agent) if has_file else AgentSettings(agent=self._agent)
        except MemfolioError as error:
            self.trouble = f"{error.message}; until that is mended, {self._agent} reads its own memory only"
            return ()
        self.trouble = None
        return settings.reads

    def follow(self, *records: Record) -> None:
        """File changes in every index that was ever asked."""
        for index in tuple(self._known.values()):
            index.follow(*records)

    def close(self) -> None:
        for index in tuple(self._known.values()):
            index.close()


NO_EMBEDDER = "there is no embedder, so only words are compared"
A_WHILE = 0.05
"""Seconds of embedding between two progress reports, and after which a question that is being asked goes first."""
BY_THE_WAY = 0.02
"""Seconds that a question may spend on vectors that are still missing; more are left to a thread and to tending."""
MEMORIES = Filter(forms=("memory", NOTE), include=(ARCHIVED,))
_PATH = re.compile(r"\b(?:agents|shared)/[^\s:,;]+")
PARTS = {
    re.compile(r"(?:agents/[^/]+|shared)/(?:MEMORY|USER|IDENTITY|SOUL)\.md"): "\n",
    re.compile(r"(?:agents/[^/]+|shared)/mind/[^/]+\.md"): "\n## ",
    re.compile(r"(?:agents/[^/]+|shared)/(?:procedures|knowledge/ontology)/.+"): "",
}
"""Pages that cite what they are made of, with what separates the parts of which each cites its own; "" is one part."""
EVERY_PROJECT = "all"
HANDFUL, FULL, EASE = 8, 250, 0.19
"""The size of a tiny home, the size from which the usual fit is needed, and the part of it that a tiny home needs.

With the usual fit, a tenth of the questions in small homes cut from public conversations got nothing although their
answer was found. A smaller one lets a few more lines through that answer nothing.
"""
MANY = 100
"""How many memories one description can mean at most."""


class Searcher:
    """What one agent may read: the one scope check of every search and look-up."""

    def __init__(
        self,
        vault: Vault,
        agent: str,
        *,
        embedder: Embedder | None = None,
        background: bool = True,
        projects: tuple[str, ...] = (),
    ) -> None:
        self.agent = agent
        self._listener: str | None = None
        self._hears_pages: tuple[object, bool] = None, False
        self.projects = projects
        """The keys of the project that is worked on: what belongs to another is not looked for unless it is named."""
        self._scope = Scope(vault, agent)
        self.index = self._scope.own
        self.index.open()
        self.vectorizer = Vectorizer(embedder or open_embedder(vault.config))
        self._vault = vault
        self._background = background
        self._worker = Worker(self.vectorizer, self.indexes)
        self._watcher = Watcher(vault, self.indexes)
        vault.subscribe(self._follow, of_many=True)
        if background and vault.config.watch:
            self.keep_up()

    def indexes(self) -> list[Index]:
        """The indexes that this agent may read, its own first: nothing else is ever asked."""
        return list(map(self._heard, self._scope.indexes()))

    def heard_by(self, listener: str | None) -> Searcher:
        """The same, of which somebody hears what they may: a person, or all in a `room:…`; None is the owner.

        Whoever listens already hears no more by naming somebody else.
        """
        if listener is None or self._listener is not None:
            return self
        heard = copy(self)
        heard._listener = listener
        heard.index = heard._heard(self.index)
        return heard

    def _heard(self, index: Index) -> Index:
        return index if self._listener is None else cast("Index", HeardIndex(index, self._listener))

    def audible(self, page: str, between: str = "\n") -> str:
        """The text of a page without the parts that cite what the listener may not hear: its lines, unless told."""
        cited = set(ANY_ID.findall(page)) if self._listener is not None else set()
        unheard = cited - self.known(cited).keys()
        return between.join(part for part in page.split(between) if unheard.isdisjoint(ANY_ID.findall(part)))

    def hears_pages(self) -> bool:
        """Whether the listener may hear pages that the words of several people went into."""
        if self._listener is None:
            return True
        self._vault.refresh()  # asked for every file of a home, of which nothing may have changed meanwhile
        moment = self._vault.epoch, self._vault.newest
        if self._hears_pages[0] != moment:
            self._hears_pages = moment, not any(index.read(has_private) for index in self.indexes())
        return self._hears_pages[1]

    def hears(self, path: str, content: bytes) -> bytes | None:
        """What the listener may hear of a file; None where it is one that the words of several people went into."""
        if is_settings(path) or self.hears_pages():
            return content
        part = next((part for form, part in PARTS.items() if form.fullmatch(path)), None)
        if part is None:
            return None
        # As they stand in the file: a page of which everything is heard must not differ by a byte.
        text = content.decode("utf-8", "surrogateescape")
        if not part:
            return content if self.audible(text, "\0") == text else None
        return self.audible(text, part).encode("utf-8", "surrogateescape")

    def shows(self, path: str) -> bool:
        """Whether the listener may see a file as a whole, and every change of it."""
        return self.may_read(path) and (is_settings(path) or self.hears_pages())

    def hears_session(self, session: str | None, room: str | None) -> bool:
        """Whether the listener hears all that was said in a session and a room so far, or nothing was."""
        return not self.index.read(lambda db: has_unheard(db, session, room))

    def may_read(self, path: str) -> bool:
        """Whether a file is in the folder of an agent that this one reads, or holds the settings of the home."""
        return path in (CONFIG, GITIGNORE) or agent_of(path) in {index.agent for index in self.indexes()}

    def _chosen(self, query: Query) -> list[Index]:
        """Those that a question is for; an agent out of scope and one that does not exist are the same."""
        indexes = self.indexes()
        if not query.agents:
            return indexes
        known = {index.agent: index for index in indexes}
        if unknown := [name for name in query.agents if name not in known]:
            raise NotFoundError(
                f"agent {self.agent} reads no agent {unknown[0][:80]!r}",
                hint="`memfolio agent list` shows whose memory it reads",
            )
        return [known[name] for name in query.agents]

    def _follow(self, *records: Record) -> None:
        self._scope.follow(*records)
        self._notify()

    def keep_up(self) -> None:
        """Notice edits of files from now on; where watching is switched off, look for edits of notes just once."""
        if self._vault.config.watch:
            self._watcher.start()
            return
        for index in self._scope.indexes():
            index.notes.mark_behind()

    def prepare(self) -> None:
        """Be ready to follow what is about to be written."""
        self.index.prepare()

    def ease(self, text: str) -> float:
        """How much of the usual fit is enough here for a question or another prompt."""
        return _ease(text, sum(index.read(size) for index in self.indexes()))

    def fits(self, hits: Sequence[Hit], ease: float, usual: float) -> bool:
        """Whether any hit is likely to answer.

        Above a tiny size, `ease` applies only to hits with a word of the question.
        """
        fitting = (hit for hit in hits if hit.fit >= usual * (ease if hit.has_words or ease <= EASE else 1))
        return not all(hit.is_question for hit in fitting)  # which takes longer to see

    def recall(self, query: Query, ranking: Ranking | None = None) -> Hits:
        """The memories that answer a question, and what could not take part in answering it.

        `ranking` takes the place of the configured one.
        """
        started = time.perf_counter()
        with self._worker.aside():
            ranking = ranking or self._vault.config.recall
            hits, question, waiting, ease = self._find(query, ranking)
        took = (time.perf_counter() - started) * 1000
        missing = f"{counted(waiting, 'memory is', 'memories are')} not embedded yet; search by meaning skips them"
        degraded = (*self.degraded(), *([missing] if waiting and not self.vectorizer.trouble else []))
        return Hits(
            hits,
            fits=self.fits(hits, ease, ranking.fits),
            degraded=degraded,
            took_ms=round(took, 3),
            intent=question.intent.value,
            filters=query.inside,
        )

    def is_known(self, name: str, value: str) -> bool:
        """Whether anything that this agent may see has this tag, session, user or entity."""
        return any(index.read(lambda connection: is_known(connection, name, value)) for index in self.indexes())

    def _find(self, query: Query, ranking: Ranking) -> tuple[list[Hit], Question, int, float]:
        """Return the hits, the question as understood, the number of memories without a vector, and `ease`."""
        for _ in range(2):  # an index that is found to be damaged is built again, and then lacks its vectors
            indexes = self._chosen(query)
            builds = [index.builds for index in indexes]
            found = self._answer(query, ranking, indexes)
            # Asking is also when another server's changes are heard of: the first memory of an agent may be among them.
            if builds == [index.builds for index in indexes] and len(self._chosen(query)) == len(indexes):
                break
        return found

    def _answer(self, query: Query, ranking: Ranking, indexes: list[Index]) -> tuple[list[Hit], Question, int, float]:
        asked = self._with_ids(query, originals=ranking.originals)
        search = Search(indexes=indexes, query=asked, ranking=ranking, decay=self._vault.config.decay)
        has_meaning = bool(query.text.strip()) and self.vectorizer.embedder is not None
        intent = None if ranking.intent else Intent.GENERAL
        if len(indexes) == 1 and (at_once := indexes[0].read(partial(self._at_once, search, intent, has_meaning))):
            hits, question, total = at_once
            return hits, question, 0, _ease(query.text, total) if not query.agents else self.ease(query.text)
        known = search.survey()
        waiting = self._fill(dict(zip(indexes, known, strict=True))) if has_meaning else 0
        question = search.understand(known, intent)
        hits = search.without(waiting).answer(question, search.query_vector(question, self.vectorizer))
        return hits, question, waiting, self.ease(query.text)

    def _at_once(
        self, search: Search, intent: Intent | None, has_meaning: bool, db: Connection
    ) -> tuple[list[Hit], Question, int] | None:
        """Return the hits of the only index, read in one transaction, and its size; None if vectors are missing."""
        known = search.survey_one(db)
        if has_meaning and not self.vectorizer.is_filled(known.overview):
            return None
        question = search.understand([known], intent)
        vector = search.query_vector(question, self.vectorizer)
        return replace(search, connection=db).answer(question, vector), question, size(db)

    def short_term(self, now: datetime) -> ShortTerm:
        """What short-term memory is at this moment."""
        shelves = self._vault.config.stores
        return ShortTerm.at(now, shelves.short_term_ttl, shelves.short_term)

    def _with_ids(self, query: Query, *, originals: bool) -> Query:
        """The query with what its filter names by other words: the stores as they are, and the ids of an entity.

        The page that tells them may lie in any index.
        """
        wanted = self.in_project(query.filter, short_term=self.short_term(query.now), originals=originals)
        query, names = replace(query, filter=wanted), wanted.entities
        if not names:
            return query
        ids = [each for index in self.indexes() for each in index.read(lambda db: named(db, names))]
        others = [each for index in self.indexes() for each in index.read(lambda db: names_of(db, ids))] if ids else []
        return replace(query, filter=replace(query.filter, entities=tuple(dict.fromkeys((*names, *ids, *others)))))

    def in_project(self, wanted: Filter, **others: Any) -> Filter:
        """A filter that leaves other projects out, unless one is named, or all of them are; with other changes too."""
        if wanted.project == EVERY_PROJECT:
            return replace(wanted, project=None, **others)
        return replace(wanted, projects=self.projects, **others)

    def _fill(self, known: Mapping[Index, IndexSurvey]) -> int:
        """Make missing vectors, for a moment; a thread goes on where there is one. Returns how many are left."""
        is_costly = self.vectorizer.embedder is not None and self.vectorizer.embedder.is_costly
        until, waiting = time.monotonic() + BY_THE_WAY, 0
        for index, survey in known.items():
            left = survey.overview.waiting
            with suppress(SearchIndexError, EmbedderError):  # vectors can wait; what is in the way will be heard
                seconds = max(0.0, until - time.monotonic())
                if self.vectorizer.is_filled(survey.overview):
                    continue
                if is_costly and not self._background:
                    self.vectorizer.fill_aside(index, seconds=seconds)
                    left = self._waiting(index)
                elif is_costly or (self._background and left > SOME):
                    self._notify()  # too much to be waited for
                elif left := self.vectorizer.fill(index, seconds=seconds, batch=SOME):
                    self._notify()
            waiting += left
        return waiting

    def _notify(self) -> None:
        if self._background:
            self._worker.notify()

    def locate(self, id: str) -> tuple[Index, Located] | None:
        """Where a memory is, if this agent may see it.

        An index may be behind for a moment, so that there is none is said only when the files were asked once more;
        IndexBusyError when they cannot be.
        """
        for index in self.indexes():
            if found := index.read(lambda connection: by_id(connection, id)):
                return index, found
        if ID_PATTERN.fullmatch(id):
            for index in self.indexes():
                self._vault.reconcile_log(index.agent, id)
        for index in self.indexes():
            if found := index.find(lambda connection: by_id(connection, id)):
                return index, found
        return None

    def require(self, id: str) -> tuple[Index, Located]:
        """`locate`, of what must be there; else NotFoundError says whether it ever was."""
        found = self.locate(one_id(id))
        if found is None:
            raise self.not_found(id)
        return found

    def find(self, id: str) -> Located | None:
        """A memory and the file it stands in, wherever this agent may look; None where there is none such."""
        found = self.locate(id)
        return found[1] if found else None

    def known(self, ids: Collection[str]) -> dict[str, MemoryItem]:
        """The memories with these ids that this agent may see; its own counts before another's of the same id."""
        found: dict[str, MemoryItem] = {}
        for index in reversed(self.indexes()):
            found |= {each.item.id: each.item for each in index.read(lambda connection: by_ids(connection, ids))}
        late = filter(None, map(self.locate, set(ids) - found.keys()))
        return found | {each.item.id: each.item for _, each in late}

    def newest(
        self, wanted: Filter, limit: int, after: Place | None = None, *, agent: str = "", is_dormant: bool = False
    ) -> tuple[list[Located], Place | None]:
        """A page of what passes a filter, the last that happened first, and the place behind which the next one begins.

        Of all that this agent reads, or of one `agent`; with `is_dormant` only what has faded so far.
        """
        read = partial(newest, wanted=wanted, limit=limit + 1, after=after)
        if is_dormant:
            now, decay = to_us(self._vault.home.now()), self._vault.config.decay
            read = partial(dormant, now=now, decay=decay, wanted=wanted, limit=limit + 1, after=after)
        indexes = [index for index in self.indexes() if agent in ("", index.agent)]
        placed = {(-_happened(each), each.item.id): each for index in indexes for each in index.read(read)}
        found = [placed[place] for place in sorted(placed)]
        last = found[limit - 1] if len(found) > limit else None
        return found[:limit], (_happened(last), last.item.id) if last else None

    def places(self, index: Index, id: str) -> list[str]:
        """Every file in which a memory stands."""
        return index.read(lambda connection: places(connection, id))

    def described(self, description: str, most: int = MANY) -> list[tuple[Index, Located]]:
        """The agent's own memories that have every word of a description; where none has, the next agent's in scope."""
        expression = every_word(description)
        for index in self.indexes():
            if found := self._with_words(index, expression, description, most):
                return [(index, each) for each in found]
        return []

    def _with_words(self, index: Index, expression: str, description: str, most: int) -> list[Located]:
        rows = index.read(lambda connection: matches(expression, Sieve(connection, MEMORIES), most + 1))
        if len(rows) > most:
            raise ConflictError(f"more than {most} memories fit {description[:60]!r}", hint="describe it more closely")
        found = index.read(lambda connection: by_rows(connection, list(rows)))
        ids = {each.item.id for each in found}
        return [each for each in found if ids.isdisjoint(each.item.derived_from)]  # that goes along anyway

    def explain(self, index: Index, found: Located) -> Explanation:
        return index.read(lambda connection: explain(connection, found))

    def events(self, id: str) -> list[Event]:
        """Everything that was done to a memory, oldest first; nothing where this agent may not know of it."""
        indexes = self.indexes()
        # What a listener may not hear is for them as if it had never been.
        if self._listener is not None and not any(index.read(lambda db: by_id(db, id)) for index in indexes):
            return []
        places = [path for index in indexes for path in self.places(index, id)]
        states = [line for index in indexes for line in index.read(lambda connection: lines_about(connection, id))]
        days = {str(day) for path in places if (day := day_of(path))}
        if ID_PATTERN.fullmatch(id) and not places:  # it is gone: its id tells when it was written
            written = local(EPOCH + timedelta(milliseconds=int(id.split("-")[1])), self._vault.home.zone)
            days.add(f"{written:%Y-%m-%d}")
        return self._vault.past.events(id, days, states, self.may_read)

    def with_fate(self, found: Located) -> Located:
        """A memory; one that is out of sight with what took it there."""
        if not (found.archived or found.item.forgotten_at):
            return found
        out = last_out(self.events(found.item.id))
        what = self._told(out) if out else "forgotten" if found.item.forgotten_at else "archived"
        fate = f"{what}; `memfolio restore {found.item.id}` brings it back"
        return replace(found, item=replace(found.item, fate=fate))

    def not_found(self, what: str) -> NotFoundError:
        """Why there is no such memory: this agent never had it, or it is gone, by whose doing and since when."""
        out = last_out(self.events(what)) if ANY_ID.fullmatch(what) else None
        if out is None:
            hint = "`recall` finds memories and shows their ids"
            return NotFoundError(f"agent {self.agent} has no memory {what[:80]!r}", hint=hint)
        is_final = out.deed == PURGED or out.seq is None
        hint = "nothing brings it back" if is_final else f"`memfolio undo {out.seq}` brings it back"
        return NotFoundError(f"{what} was {self._told(out)}", hint=hint)

    def _told(self, event: Event) -> str:
        """What was done to a memory, by whom and when."""
        at = local(datetime.fromisoformat(event.at), self._vault.home.zone)
        change = f" in change {event.seq}" if event.seq else ""
        return f"{event.deed} by {event.actor}{change} on {at:%Y-%m-%d %H:%M}"

    def catch_up(self) -> None:
        """Bring every index up to date with the files."""
        for index in self.indexes():
            index.catch_up()

    def rebuild(self, progress: Progress) -> int:
        """Build the indexes anew, vectors included; returns how many files they hold."""
        files = sum(index.rebuild(progress=progress) for index in self.indexes())
        self.embed()
        return files

    def embed(
        self, progress: Progress = lambda done, total: None, enough: Callable[[], bool] = lambda: False
    ) -> Embedded:
        """Make every vector that is missing, unless there was `enough` before; what is made is kept batch by batch.

        Without an embedder, or with one that fails, the rest stays missing, and is said to.
        """
        # In no time nothing is made, but vectors of another embedder give way, and are missing from then on.
        waiting = {index: self.vectorizer.fill(index, seconds=0, is_patient=True) for index in self.indexes()}
        total = sum(waiting.values())
        for index in waiting:
            while waiting[index] and not self.vectorizer.is_stuck(index) and not enough():
                progress(max(0, total - sum(waiting.values())), total)
                batch = self._worker.batch
                waiting[index] = self.vectorizer.fill(index, seconds=A_WHILE, batch=batch, is_patient=True)
                self._worker.give_way()
        missing = sum(waiting.values())
        trouble = self.vectorizer.trouble.message if self.vectorizer.trouble else None
        why = NO_EMBEDDER if self.vectorizer.embedder is None else trouble
        return Embedded(made=max(0, total - missing), missing=missing, degraded=why if missing else None)

    def embed_all(self) -> None:
        """`embed`, of which EmbedderError says why it could not be done; without an embedder there is nothing to do."""
        done = self.embed() if self.vectorizer.embedder is not None else None
        if done and done.missing:
            raise EmbedderError(
                f"{counted(done.missing, 'memory', 'memories')} could not be embedded: {done.degraded or 'try again'}",
                hint="they are found by their words; `memfolio tend` embeds what is missing",
            )

    @property
    def is_embedding(self) -> bool:
        """Whether a thread makes vectors, or did a moment ago."""
        return self._worker.is_running

    def missing_vectors(self) -> int:
        """How many memories have no vector yet."""
        return sum(map(self._waiting, self.indexes()))

    def leaves_vectors(self) -> bool:
        """Whether the agent's own memories lack more vectors than a question makes by the way, and can get them."""
        embedder = self.vectorizer.embedder
        is_able = embedder is not None and not embedder.is_costly and self.vectorizer.trouble is None
        return is_able and self._waiting(self.index) > SOME

    def degraded(self) -> tuple[str, ...]:
        """What does not take part as it should, each as a sentence."""
        found = [f"home: {self._vault.trouble.message}"] if self._vault.trouble and self._vault.may_pass else []
        found += [f"scope: {self._scope.trouble}"] if self._scope.trouble else []
        indexes = self.indexes()
        found += [f"index: {index.trouble.message}" for index in indexes if index.trouble]
        if self.vectorizer.embedder is None:
            found.append(f"vectors: {NO_EMBEDDER}")
        elif self.vectorizer.trouble:
            found.append(f"vectors: {self.vectorizer.trouble.message}")
        for index in indexes:
            found += [f"notes: {root} {why}" for root, why in index.notes.missing().items()]
        if self._watcher.trouble:
            found.append(f"watching: {self._watcher.trouble}")
        return tuple(found)

    def _waiting(self, index: Index) -> int:
        try:
            return index.read(count_pending)
        except SearchIndexError:  # which is told as the index's own trouble
            return 0

    def notices(self) -> list[str]:
        """What was repaired, each told once; what names a file that must not be shown is left out."""
        kept = [self._vault.notices, *(index.notices for index in self.indexes())]
        found = [notice for notices in kept for notice in notices]
        for notices in kept:
            notices.clear()
        return [notice for notice in found if all(map(self._vault.shows, _PATH.findall(notice)))]

    def close(self) -> None:
        """Stop the threads and let go of the files."""
        self._vault.unsubscribe(self._follow)
        self._watcher.close()
        self._worker.close()
        self._scope.close()


def is_settings(path: str) -> bool:
    """Whether a file holds settings, which nobody's words went into."""
    return path in (CONFIG, GITIGNORE) or ((agent := agent_of(path)) is not None and path == agent_file(agent))


def _ease(text: str, total: int) -> float:
    """The part of the usual fit that a prompt needs. Above a tiny size, only questions need less of it."""
    if total <= HANDFUL:
        return EASE
    if total >= FULL or not asks(text):
        return 1.0
    return EASE + (1 - EASE) * math.log(total / HANDFUL) / math.log(FULL / HANDFUL)


def _happened(found: Located) -> int:
    return to_us(found.item.event_time or found.item.created_at)
