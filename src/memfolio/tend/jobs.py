"""The jobs that look after an agent's memory, in the order in which they are done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from memfolio.embed.meaning import Embedded
from memfolio.govern.proposals.proposals import Proposals
from memfolio.index.index import Index
from memfolio.llm.model import Model
from memfolio.recall.library import Library
from memfolio.tend.due import Period
from memfolio.tend.hand import Hand, tender
from memfolio.text import counted

LATELY = timedelta(days=7)
"""Conversations that have been over for longer have taught what they could."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tended:
    """What a job has at hand."""

    hand: Hand
    library: Library
    proposals: Proposals
    reflect: Callable[[bool], str]
    """Reflects, or with True only tries, and says what came of it."""
    model: Model | None = None
    is_asked_for: bool = False
    """Whether somebody wants it done at once, due or not."""
    sessions: tuple[str, ...] = ()
    """The conversations that it is about; none for all."""
    enough: Callable[[], bool] = field(default=lambda: False)
    """Whether the time is up, to be asked between two changes."""
    told: Callable[[int, int], None] = field(default=lambda done, total: None)

    @property
    def index(self) -> Index:
        return self.library.index


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Something that is due again and again; `run` says in a few words what it did, or nothing."""

    name: str
    period: Period
    run: Callable[[Tended], str]
    doc: str


def _sessions(tended: Tended) -> str:
    from memfolio.tend.sessions.session import Ended, hear_out

    settings = tended.hand.vault.config.learn
    if not settings.enabled:
        return ""
    asked = tended.is_asked_for
    ended = Ended(only=tended.sessions, is_over=asked, again=asked)
    heard = hear_out(
        tended.hand, tended.index, settings, ended, model=tended.model, enough=tended.enough, told=tended.told
    )
    learned, conflicts = sum(each.learned for each in heard), sum(each.conflicts for each in heard)
    told = f"{_many(len(heard), 'conversation')}, {_many(learned, 'statement') or 'nothing'} learned" if heard else ""
    return f"{told}, {_many(conflicts, 'conflict')}" if conflicts else told


def _consolidate(tended: Tended) -> str:
    from memfolio.tend.consolidate.consolidate import consolidate

    settings = tended.hand.vault.config.consolidate
    found = consolidate(tended.hand, tended.index, settings, tended.model)
    parts = [_many(len(found.groups), "summary", "summaries")] if found.groups else []
    parts += [f"{len(found.promoted)} promoted"] if found.promoted else []
    return ", ".join(parts)


def _graph(tended: Tended) -> str:
    from memfolio.graph.grow import grow

    return _many(len(grow(tended.hand, tended.index, _classes(tended)).pages), "page")


def _classes(tended: Tended) -> list[str]:
    """The classes of the ontology as types of entities: `sales-order`."""
    from memfolio.knowledge.ontology.ontology import Ontology
    from memfolio.knowledge.ontology.term import TermKind, spoken

    terms = Ontology(tended.hand.vault, tended.library, tended.hand.agent).terms()
    return [spoken(each.name, each.kind).lower().replace(" ", "-") for each in terms if each.kind is TermKind.CLASS]


def _patterns(tended: Tended) -> str:
    from memfolio.tend.patterns.learn import learn_patterns

    return _many(len(learn_patterns(tended.hand, tended.index, tended.hand.now)), "pattern")


def _day(tended: Tended) -> str:
    from memfolio.tend.day import close_days

    return _many(len(close_days(tended.hand, tended.index)), "day")


def _digest(tended: Tended) -> str:
    from memfolio.tend.digest.build import build

    return _many(len(build(tended.hand, tended.index, model=tended.model).paths), "digest")


def _retention(tended: Tended) -> str:
    from memfolio.tend.retention import retain

    found = retain(tended.hand, tended.index)
    moved = [_many(found.memories, "memory", "memories"), _many(len(found.pages), "page")]
    archived = " and ".join(filter(None, moved))
    packed = _many(len(found.compressed), "log")
    return ", ".join(filter(None, [archived and f"{archived} archived", packed and f"{packed} compressed"]))


def _backup(tended: Tended) -> str:
    from memfolio.tend.backup import back_up, backup_folder, backups

    hand, settings = tended.hand, tended.hand.vault.config.backup
    if not settings.folder:
        return ""
    folder = backup_folder(hand.vault)
    made = backups(hand.vault, folder) if folder.is_dir() else []
    if made and hand.now.timestamp() - made[-1].path.stat().st_mtime < settings.every.total_seconds():
        return ""
    return back_up(hand.vault, folder, settings.keep, hand.now, dry_run=hand.dry_run).path.name


def _proposals(tended: Tended) -> str:
    """What nobody decided on in time is dropped, and what needs nobody's leave is committed."""
    proposals, hand = tended.proposals, tended.hand
    if hand.dry_run:
        return ""
    dropped, made = proposals.expire(hand.now), proposals.review()
    parts = [f"{_many(len(dropped), 'proposal')} expired"] if dropped else []
    return ", ".join(parts + ([f"{_many(len(made), 'proposal')} committed"] if made else []))


def _reflect(tended: Tended) -> str:
    from memfolio.govern.reflection.reviews import due

    hand = tended.hand
    is_due = due(hand.vault, tended.index, hand.agent, hand.now) is not None
    return tended.reflect(hand.dry_run) if is_due else ""


def _watch(tended: Tended) -> str:
    from memfolio.govern.alerts import watch

    hand = tended.hand
    raised = [] if hand.dry_run else watch(hand.vault, tended.library, hand.agent, hand.now)
    kinds = ", ".join(dict.fromkeys(line.by.trigger.partition(":")[0] for line in raised))
    return f"{_many(len(raised), 'alert')}: {kinds}" if raised else ""


def _heartbeat(tended: Tended) -> str:
    """Digests of weeks that are over are made by their own job."""
    from memfolio.mind.heartbeat import beat

    found = beat(tended.hand, tended.library)
    tended.hand.notes.extend((*found.notes, *found.problems))
    parts = [
        _many(found.stale_intentions_pruned, "intention let go", "intentions let go"),
        _many(found.desires_moved, "desire moved", "desires moved"),
        _many(found.beliefs_fed, "belief from facts", "beliefs from facts"),
        _many(found.conflicts_detected, "conflict"),
    ]
    return ", ".join(filter(None, parts))


def _procedures(tended: Tended) -> str:
    """Learn from what went well, and let go of what fails."""
    from memfolio.procedures.metrics import failing
    from memfolio.procedures.procedures import Procedures
    from memfolio.procedures.runs import Runs

    hand, settings = tended.hand, tended.hand.vault.config.procedures
    procedures = Procedures(hand.vault, tended.library, hand.agent, model=tended.model)
    runs, by = Runs(hand.vault, tended.library, hand.agent, procedures), tender("procedures")
    since = None if tended.is_asked_for else hand.now - LATELY
    learned = procedures.learn(since=since, by=by, dry_run=hand.dry_run) if settings.learn else []
    retired = failing(procedures.list(), runs.list(), settings)
    for each in retired:
        procedures.retire(each.procedure, each.reason, by=by, dry_run=hand.dry_run)
    told = _many(len(learned), "procedure learned", "procedures learned")
    return ", ".join(filter(None, (told, _many(len(retired), "procedure retired", "procedures retired"))))


def _embed(tended: Tended) -> str:
    """Make the vectors that are missing; what cannot be embedded is told, and found by its words."""
    hand, library = tended.hand, tended.library
    if library.meaning.embedder is None and hand.vault.config.embedding_provider == "none":
        return ""
    is_shown = hand.dry_run and library.meaning.embedder is not None
    found = Embedded(made=library.missing_vectors()) if is_shown else library.embed(tended.told, tended.enough)
    if found.missing:
        why = found.degraded or "the time is up"
        hand.notes.append(f"{_many(found.missing, 'memory', 'memories')} not embedded: {why}")
    return f"{_many(found.made, 'memory', 'memories')} embedded" if found.made else ""


def _typedb(tended: Tended) -> str:
    from memfolio.knowledge.typedb.mirror import catch_up

    hand = tended.hand
    return "" if hand.dry_run or not hand.vault.config.typedb.url else catch_up(hand.vault, tended.library, hand.agent)


def _many(count: int, noun: str, plural: str = "") -> str:
    return counted(count, noun, plural) if count else ""


JOBS = (
    Job(name="sessions", period=Period.ALWAYS, run=_sessions, doc="learn from conversations that are over"),
    Job(name="consolidate", period=Period.ALWAYS, run=_consolidate, doc="promote and sum up what proved important"),
    Job(name="graph", period=Period.ALWAYS, run=_graph, doc="bring the pages of people and things up to date"),
    Job(name="day", period=Period.DAILY, run=_day, doc="close the days that are over with a summary"),
    Job(name="patterns", period=Period.WEEKLY, run=_patterns, doc="look for habits"),
    Job(name="digest", period=Period.DAILY, run=_digest, doc="sum up weeks, months and quarters that are over"),
    Job(
        name="heartbeat", period=Period.BEAT, run=_heartbeat, doc="let go of what is over, and look for contradictions"
    ),
    Job(name="procedures", period=Period.DAILY, run=_procedures, doc="learn how things are done, and what fails"),
    Job(name="retention", period=Period.DAILY, run=_retention, doc="archive and compress what is past its time"),
    Job(name="proposals", period=Period.ALWAYS, run=_proposals, doc="drop proposals that nobody decided on in time"),
    Job(name="reflect", period=Period.ALWAYS, run=_reflect, doc="look back, where enough has happened, and propose"),
    Job(name="embed", period=Period.ALWAYS, run=_embed, doc="embed the memories that semantic search lacks"),
    Job(name="watch", period=Period.DAILY, run=_watch, doc="look for what the owner must be told"),
    Job(name="typedb", period=Period.ALWAYS, run=_typedb, doc="bring the copy on a TypeDB server up to date"),
    Job(name="backup", period=Period.DAILY, run=_backup, doc="copy the home, where a folder for that is set"),
)
