"""Destroying memories: the plan, then files, git's history and caches, then the proof that nothing is left."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import DiskError, HistoryError, MemfolioError, NotFoundError, PageChangedError, RefusedError
from memfolio.state import Op
from memfolio.types import EMPTY, Action, Attribution, MemoryItem, Store, check_attribution, frozen, sums_up
from memfolio.vault.change import AddLines, Allowed, Change, Operation, PutPage
from memfolio.vault.disk import disk_errors
from memfolio.vault.git.rewrite import Rewritten, check_reach, objects, rewrite, versions
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import SUFFIX, attribution, read_lines
from memfolio.vault.log import read_log_at
from memfolio.vault.move import PURGE, forgotten_by, is_bare, lasting_lines
from memfolio.vault.paths import INTERNAL, OWNER, Form, agent_of, form_of, is_tracked, state_ledger
from memfolio.vault.purge.scrub import (
    LONG,
    Needles,
    Scrub,
    Target,
    frame_of,
    freed_by,
    is_text,
    parts_of,
    persons_words,
    sentences_of,
    unpack_file,
)
from memfolio.vault.reconcile import TORN, blob_id
from memfolio.vault.vault import PURGE as NAME

if TYPE_CHECKING:
    from memfolio.vault.paths import Home
    from memfolio.vault.vault import Vault

# The plan of a purge: the memories, what was derived from them, who else has their text, and where it is.

KNOWLEDGE = "/knowledge/"
Past = Callable[[], Iterable[tuple[str, bytes]]]
OUT_OF_REACH = (
    "clones, remotes, backups and copies elsewhere",
    "what a model, an embedding service or another program was given",
    "blocks of the disk that are free but not overwritten",
)


@frozen
class MarkedMemory:
    """A memory to destroy; `why` is empty if it was named."""

    id: str
    agent: str
    path: str
    content: str
    why: str = ""


@frozen
class PurgePlan:
    """Everything that a purge would do."""

    memories: tuple[MarkedMemory, ...]
    target: Target
    files: dict[str, int] = field(default_factory=dict)
    """The files that change, and how many bytes each loses."""
    history: dict[str, int] = field(default_factory=dict)
    """The number of versions in git that contain some of it, by file."""
    related: tuple[str, ...] = ()
    """Memories that were derived from others too, or have a sentence of these: they stay, and may say the same."""
    git: str = ""
    """Why git's history stays as it is; empty when it is rewritten."""


class Planner:
    """Works out a plan from the files as they are and every content that they had, of agents that may be read.

    `past` iterates over every version of every file, which may be a lot and is not kept; `loose` are files of the home
    that nobody keeps a history of.
    """

    def __init__(self, vault: Vault, reach: Scrub, past: Past, loose: Mapping[str, bytes] = EMPTY) -> None:
        self.files = {path: data for path, data in files_of(vault).items() if not reach.is_foreign(path)}
        self.past: Past = lambda: (each for each in past() if not reach.is_foreign(each[0]))
        # Words of internal files that are no memories, and that the proof must not take for one.
        self.own = b" ".join([*KEYS, vault.home.disk.read(vault.home.internal / OWNER) or b""])
        self.loose, self.agents = loose, reach.agents
        self._marked: dict[str, MarkedMemory] = {}
        self._texts: set[str] = set()
        self._sentences: set[str] = set()

    def plan(self, ids: Iterable[str], *, git: str = "", counts: bool = True) -> PurgePlan:
        """The plan for these memories; raises NotFoundError for one that is nowhere, RefusedError for quotes.

        `counts` says how many versions in git are concerned, which takes a while.
        """
        self._mark(ids, "")
        self._add_derived()
        spared = self._common()
        self._check_quotes(spared)
        self._check_pages(spared)
        target = Target(
            ids={each.id: each.agent for each in self._marked.values()},
            texts=frozenset(self._texts),
            sentences=frozenset(self._sentences),
            spared=spared,
            agents=self.agents,
        )
        plan = PurgePlan(memories=tuple(self._marked.values()), target=target, git=git)
        return self._located(plan, self.past() if counts else ())

    def _check_quotes(self, spared: frozenset[str]) -> None:
        """Refuse to cut the text where memories that are not named have it, too: that would leave half of them."""
        needles = Needles.of(self._texts, but=spared)
        if quoted := self._found(Scrub(frozenset(self._marked), needles), needles):
            raise _also_in("memories have the same text or a line of it", quoted, "name them too")

    def _check_pages(self, spared: frozenset[str]) -> None:
        """Refuse to cut a short text where people's pages have it, since it may stand there for another reason."""
        parts = Needles.of(self._texts, but=spared).parts
        short = Needles(frozenset(part for part in parts if len(part) < LONG))
        pages = chain(self.files.items(), self.loose.items()) if short.parts else ()
        if found := sorted(path for path, data in pages if short.are_in(persons_words(path, data))):
            what = "files of people have the text, which is too short to be cut there unseen"
            raise _also_in(what, found, "take it out of them, then purge again")

    def _located(self, plan: PurgePlan, past: Iterable[tuple[str, bytes]]) -> PurgePlan:
        scrub = plan.target.scrub()
        after = {path: scrub(path, data) for path, data in self.files.items()}
        lost = {path: len(data) - len(after[path]) for path, data in self.files.items() if data != after[path]}
        history = Counter(path for path, data in past if scrub(path, data) != data)
        related = [item.id for _, item in self._derived() if item.id not in self._marked]
        related += self._found(scrub, scrub.fine)
        return replace(plan, files=lost, history=dict(history), related=tuple(dict.fromkeys(related)))

    def _mark(self, ids: Iterable[str], why: str) -> None:
        """Take memories into the plan, with every text that they ever had."""
        wanted = frozenset(ids)
        finder = Finder(wanted, is_named=not why)
        for path, data in chain(self.files.items(), self.past()):
            finder.search(path, data)
        if missing := wanted - finder.found.keys():
            raise NotFoundError(
                f"no file and no version of one has a memory {min(missing)[:80]!r}",
                hint="`recall` shows the ids of memories",
            )
        self._texts |= finder.texts
        self._sentences |= finder.sentences
        for each, (path, content) in finder.found.items():
            self._marked[each] = MarkedMemory(id=each, agent=agent_of(path) or "", path=path, content=content, why=why)

    def _add_derived(self) -> None:
        """Add memories derived from purged ones alone, and summaries of any of them."""
        while found := {item.id: item for _, item in self._derived() if self._goes_along(item)}:
            alone = [each for each, item in found.items() if self._has_no_other_source(item)]
            if alone:
                self._mark(alone, "derived from these alone")
            if summaries := found.keys() - set(alone):
                self._mark(sorted(summaries), "sums up one of these")

    def _goes_along(self, item: MemoryItem) -> bool:
        return item.id not in self._marked and (sums_up(item) or self._has_no_other_source(item))

    def _has_no_other_source(self, item: MemoryItem) -> bool:
        return self._marked.keys() >= set(item.derived_from)

    def _derived(self) -> Iterator[tuple[str, MemoryItem]]:
        marks = [each.encode() for each in self._marked]
        for path, data in self._logs():
            if b"derived_from" in data and any(mark in data for mark in marks):
                yield from ((path, item) for item in _items(path, data) if self._marked.keys() & set(item.derived_from))

    def _common(self) -> frozenset[str]:
        """What of the texts stands in lines of our own, such as a date or a type: cutting it there would break them."""
        needles = Needles.of(self._texts, sentences=self._sentences)
        found = set(needles.found_in(to_text(self.own)))
        scrub = Scrub(frozenset(self._marked), needles)
        for path, data in map(unpack_file, self.files.keys(), self.files.values()):
            if needles.are_in(data):
                rest = scrub.without_entries(path, data) if form_of(path) is Form.LOG else data
                found.update(needles.found_in(frame_of(path, rest)))
        return frozenset(found)

    def _found(self, scrub: Scrub, needles: Needles) -> list[str]:
        """The remaining memories that contain some of the texts."""
        found = list[str]()
        for path, data in self._logs():
            rest = scrub.without_entries(path, data) if scrub.touches(data) else b""
            items = _items(path, rest) if needles.are_in(rest) else []
            found += [item.id for item in items if needles.are_in(to_bytes(item.content))]
        return list(dict.fromkeys(found))

    def _logs(self) -> Iterator[tuple[str, bytes]]:
        readable = (unpack_file(path, data) for path, data in self.files.items())
        return ((path, data) for path, data in readable if form_of(path) is Form.LOG)


@dataclass(slots=True)
class Finder:
    """Find memories in contents of logs and collect their texts."""

    ids: frozenset[str]
    is_named: bool = True
    """Whether the text of what was made of others is looked for too; it repeats memories that are to stay."""
    found: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Where each memory was first seen, and its text there."""
    texts: set[str] = field(default_factory=set)
    sentences: set[str] = field(default_factory=set)
    _scrub: Scrub = field(init=False)
    _read: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._scrub = Scrub(self.ids, Needles(frozenset()))

    def search(self, path: str, data: bytes) -> None:
        path, data = unpack_file(path, data)
        if KNOWLEDGE in path and form_of(path) is Form.LINES and self._scrub.touches(data):
            self._note_lines(path, data)
        if form_of(path) is not Form.LOG or not (self._seeks_notes() or self._scrub.touches(data)):
            return
        for start, end in self._scrub.spans(path, data):
            if (raw := data[start:end]) not in self._read:
                self._read.add(raw)
                self._note(path, [*_items(path, raw), *(_items(path, data) if self._seeks_notes() else ())])

    def _note_lines(self, path: str, data: bytes) -> None:
        """Collect the texts of lines about a fact or a case with one of the ids."""
        for record in read_lines(data).records:
            for each in self.ids & {record.get(name) for name in ("id", "fact", "case")}:
                texts = list(_words_of(record))
                self.found.setdefault(each, (path, " ".join(texts)))
                self.texts.update(texts[-1:])
                self.sentences.update(*map(sentences_of, texts[-1:]))

    def _seeks_notes(self) -> bool:
        """Whether a memory without an id in its file is searched, which only parsing can find."""
        return any(not each.startswith("M-") and each not in self.found for each in self.ids)

    def _note(self, path: str, items: Iterable[MemoryItem]) -> None:
        for item in items:
            if item.id in self.ids:
                self.found.setdefault(item.id, (path, item.content))
                if not sums_up(item):
                    self.sentences |= sentences_of(item.content)
                if self.is_named or not sums_up(item):
                    self.texts.add(item.content)


def _words_of(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a line: the parts of a fact, or the situation of a case."""
    situation = record.get("situation")
    texts = [record.get(name) for name in ("subject", "predicate", "object")]
    texts += [situation.get("context")] if isinstance(situation, dict) else []
    return (each for each in texts if isinstance(each, str))


def _items(path: str, data: bytes) -> list[MemoryItem]:
    return [found.entry.item for found in read_log_at(path, to_text(data)).entries]


def _also_in(what: str, names: Sequence[str], hint: str) -> RefusedError:
    few = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
    return RefusedError(f"{len(names)} other {what}: {few}", hint=hint)


# A purge that is under way, on disk before the first byte is touched, so that it is finished after a crash.
#
# It holds the very texts that are to go, which nothing else tells once the files are clean; it is deleted last.


@frozen
class PurgeJob:
    """A purge in progress: its target, and who asked for it."""

    target: Target
    by: Attribution
    rewrites: bool
    """Whether git's history is rewritten too."""

    def unsought(self) -> tuple[str, ...]:
        """What of the texts nobody looks for, in words that do not repeat it."""
        short = sum(not parts_of(text) for text in self.target.texts)
        spared = len(self.target.spared)
        found = {"too short to be looked for": short, "words of memfolio's own lines, too": spared}
        return tuple(f"{count} of its texts: {why}" for why, count in found.items() if count)


def save(home: Home, job: PurgeJob) -> None:
    document = {**asdict(job.target), "by": astuple(job.by), "rewrites": job.rewrites}
    home.disk.put(home.internal / NAME, json.dumps(document, default=sorted).encode())


def load(home: Home) -> PurgeJob | None:
    """Return the purge in progress, None if there is none. Raises DiskError if its file cannot be read."""
    raw = home.disk.read(home.internal / NAME)
    if raw is None:
        return None
    try:
        data = json.loads(raw)
        by, rewrites = attribution(*data.pop("by")), data.pop("rewrites")
        sets = {name: frozenset(value) for name, value in data.items() if isinstance(value, list)}
        return PurgeJob(target=Target(**data | sets), by=by, rewrites=rewrites)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DiskError(
            f"{home.internal.name}/{NAME} cannot be read, and what it was to destroy may be left",
            hint="purge that again once you have deleted the file",
        ) from error


def drop(home: Home) -> None:
    """Say that the purge is done; if power fails before that is on disk, it is done once more."""
    try:
        home.disk.remove(home.internal / NAME)
    except OSError:
        if home.disk.stamp(home.internal / NAME) is not None:
            raise


# The proof of a purge: every file of the home and of its cache, and every object of its git, is searched.

HISTORY, SEARCHING, OBJECTS = "commits rewritten", "files searched", "git objects searched"
"""The parts of a purge that may take long, by what is counted in each."""
OnProgress = Callable[[str, int, int], None]


def quietly(job: str, done: int, total: int) -> None:
    """For a purge of which nobody wants to know how far it is."""


GZIP = b"\x1f\x8b"
"""How compressed data begins."""
FOREIGN = "another agent's files"
"""How places are described that the purging agent may not read."""


@frozen
class PurgeProof:
    """What was searched, and where something was found; an unreadable place counts as found."""

    files: int
    cached: int
    objects: int
    left: tuple[str, ...]
    unsought: tuple[str, ...] = ()
    """What was not searched, and why."""

    @property
    def is_clean(self) -> bool:
        return not self.left and not self.unsought


def prove(
    vault: Vault,
    scrub: Scrub,
    left: Iterable[str] = (),
    unsought: tuple[str, ...] = (),
    on_progress: OnProgress = quietly,
) -> PurgeProof:
    """Search everything for the texts. Git's own files are searched as what they hold: decompressed objects.

    `left` is what others have found already. What another agent has is told without saying what and where.
    """
    home, cache = vault.home.root, vault.config.cache
    found = list(left)
    files = [path for path in walk(home) if path != vault.home.internal / NAME]
    cached = list(walk(cache))
    places = [*files, *cached]
    for done, path in enumerate(places):
        on_progress(SEARCHING, done, len(places))
        if not _has(path, scrub.fine):
            continue
        named = path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)
        is_foreign = scrub.is_foreign(named) or (path.is_relative_to(cache) and _is_foreign_index(path, scrub))
        found.append(FOREIGN if is_foreign else named)
    count = 0
    hits: list[str] = []
    for oid, data in objects(vault.history, partial(on_progress, OBJECTS)) if (home / ".git").exists() else ():
        count += 1
        if scrub.fine.are_in(unpacked(data)):
            hits.append(oid)
    foreign = _foreign_objects(vault, scrub) if hits and scrub.agents is not None else frozenset()
    found += [FOREIGN if oid in foreign else f"git object {oid}" for oid in hits]
    return PurgeProof(
        files=len(files), cached=len(cached), objects=count, left=tuple(dict.fromkeys(found)), unsought=unsought
    )


def _is_foreign_index(path: Path, scrub: Scrub) -> bool:
    return scrub.is_foreign(f"agents/{path.name.partition('.')[0]}/index")


def _foreign_objects(vault: Vault, scrub: Scrub) -> frozenset[str]:
    """The objects that only other agents' files have."""
    ours, others = set[str](), set[str]()
    for path, data in versions(vault.history):
        (others if scrub.is_foreign(path) else ours).add(blob_id(data))
    return frozenset(others - ours)


def walk(folder: Path) -> Iterator[Path]:
    """Every file below a folder, without links and without git's objects."""
    for parent, folders, names in os.walk(folder):
        if Path(parent).name == ".git":
            folders[:] = [name for name in folders if name != "objects"]
        yield from (path for name in names if not (path := Path(parent, name)).is_symlink())


def _has(path: Path, needles: Needles) -> bool:
    try:
        return path.is_file() and needles.are_in(unpacked(path.read_bytes()))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def unpacked(data: bytes) -> bytes:
    return unpack_file(f"any.md{SUFFIX}", data)[1] if data.startswith(GZIP) else data


# Destroying memories: from the files, from git's history, from caches; then looking for what may be left.
#
# Nobody commits meanwhile, and nobody writes while files and caches are cleaned; only git's history, which takes
# longest, is rewritten while others go on writing. A crash at any point is made good when the home is next opened:
# every step can be repeated, and a step that is done does nothing.

ATTEMPTS = 20
KEYS = (b"committed", b"change", b"writes")
"""Words of the journal that are long enough to be looked for."""

Rebuild = Callable[[Sequence[str]], Iterable[str]]
"""Rebuild the search indexes; gets the texts, and returns where something of them is left."""


@frozen
class Purged:
    """What a purge did, or would do; `proof` is there when it was done."""

    plan: PurgePlan
    seqs: tuple[int, ...] = ()
    history: Rewritten | None = None
    proof: PurgeProof | None = None

    @property
    def is_clean(self) -> bool:
        return self.proof is not None and self.proof.is_clean


def purge(
    vault: Vault,
    ids: Iterable[str],
    *,
    by: Attribution,
    dry_run: bool = False,
    rebuild: Rebuild | None = None,
    agents: Iterable[str] | None = None,
    on_progress: OnProgress | None = None,
) -> Purged:
    """Destroy memories for good, and what was derived from them; with `dry_run`, only say what would go.

    Nothing of other agents than `agents` is read for the plan or changed; None stands for all. Raises NotFoundError for
    a memory that is nowhere, RefusedError where git is in somebody's hands or other memories have the text too,
    PolicyError where `by` may not change a page that has it. Without `rebuild`, the search indexes are deleted and
    build themselves when they are needed.
    """
    check_attribution(by)
    wanted, whose = list(ids), None if agents is None else frozenset(agents)
    with _alone(vault):
        if job := load(vault.home):
            _carry_out(vault, job, rebuild)
        with vault.writer.ready():
            why_not = _without_git(vault)
            past = tuple if why_not else partial(versions, vault.history)
            reach = reach_of(whose)
            loose = {path: data for path, data in _loose(vault, reach) if not _is_fragment(path)}
            planner = Planner(vault, reach, past, loose)
            plan = planner.plan(wanted, git=why_not, counts=dry_run)
            if dry_run:
                return Purged(plan=plan)
            job = allowed(vault, PurgeJob(target=plan.target, by=by, rewrites=not why_not))
            _begin(vault, job)
            with _begun():
                seqs = clean_files(vault, job)
        with _begun():
            more, history, proof = _carry_out(vault, job, rebuild, on_progress or quietly)
        plan = replace(plan, history=history.files if history else {})
        return Purged(plan=plan, seqs=(*seqs, *more), history=history, proof=proof)


def reach_of(agents: frozenset[str] | None) -> Scrub:
    """What tells which files these agents may not read."""
    return Scrub(frozenset(), Needles(frozenset()), agents=agents)


def resume(vault: Vault) -> None:
    """Finish a purge that a crash interrupted; what is in its way is noted for a person to read."""
    try:
        with _alone(vault):
            job = load(vault.home)
            proof = _carry_out(vault, job, None)[2] if job else None
    except MemfolioError as error:
        vault.notices.append(f"a purge is not finished: {error.message}; it goes on when the home is next opened")
        return
    if proof:
        notes = [f"something is left in {', '.join(proof.left)}"] if proof.left else []
        notes += [f"not looked for: {each}" for each in proof.unsought]
        vault.notices.append(f"a purge that was interrupted is finished: {'; '.join(notes) or 'nothing of it is left'}")


@contextmanager
def _alone(vault: Vault) -> Iterator[None]:
    """Keep others from committing, with everything recorded that people did."""
    vault.survey()
    if vault.trouble is not None:
        raise vault.trouble
    with disk_errors(vault.home.root), vault.committer.holding():
        yield


def allowed(vault: Vault, job: PurgeJob) -> PurgeJob:
    """The purge under the name in which it may be made; raises PolicyError where it may not.

    The policy is asked before anything is begun, and about all that will be written: nothing stops a purge later on.
    """
    scrub = job.target.scrub()

    def attempt() -> PurgeJob:
        return replace(job, by=vault.allowed(_change(job, _operations(vault, job, scrub))).by)

    return vault.compose(attempt)


def _change(job: PurgeJob, operations: tuple[Operation, ...]) -> Change:
    return Change(operations=operations, by=job.by, action=Action.PURGE)


def _begin(vault: Vault, job: PurgeJob) -> None:
    try:
        save(vault.home, job)
    except OSError:
        with _begun():
            if vault.home.disk.stamp(vault.home.internal / NAME) is not None:  # only syncing it has failed
                raise
        raise


@contextmanager
def _begun() -> Iterator[None]:
    """Say of what goes wrong from here on that it cannot stop the purge, only hold it up."""
    try:
        yield
    except (OSError, MemfolioError) as error:
        raise DiskError(
            f"the purge is begun and not finished: {error}", hint="it goes on when the home is next opened"
        ) from error


def _without_git(vault: Vault) -> str:
    """Why git is left alone, if there is none; raises RefusedError where there is and it cannot be rewritten."""
    if not vault.config.git.enabled:
        return "git is switched off for this home"
    _commit(vault)
    check_reach(vault.history)
    return ""


def _commit(vault: Vault) -> None:
    if vault.committer.commit_now():
        vault.committer.check_room()
        raise RefusedError(
            f"git is in somebody's hands: {vault.committer.obstacle}", hint="finish what is under way, then purge"
        )
    if (obstacle := vault.history.obstacle()) is not None:
        raise RefusedError(f"git is in somebody's hands: {obstacle}", hint="finish what is under way, then purge")


def files_of(vault: Vault) -> dict[str, bytes]:
    return {path: data for path in vault.paths() if (data := vault.journal.read(path)) is not None}


def _carry_out(
    vault: Vault, job: PurgeJob, rebuild: Rebuild | None, on_progress: OnProgress = quietly
) -> tuple[tuple[int, ...], Rewritten | None, PurgeProof]:
    """Every step of a purge that is in the journal, which is dropped behind the last one."""
    scrub, history = job.target.scrub(), None
    with vault.writer.ready():
        seqs = clean_files(vault, job)
        if job.rewrites:
            _commit(vault)
            vault.history.refresh_index()
    if job.rewrites:
        history = rewrite(vault.history, scrub, partial(on_progress, HISTORY))
    with vault.writer.ready():
        if not job.rewrites:
            vault.journal.pending.clear()  # git has no use for the bytes, and the trail knows the rest
        vault.journal.rewrite()
        _sweep(vault, scrub)
        left = clean_cache(vault, job, rebuild)
        proof = prove(vault, scrub, left, job.unsought(), on_progress)
        drop(vault.home)
    return seqs, history, proof


def clean_files(vault: Vault, job: PurgeJob) -> tuple[int, ...]:
    """Take the memories out of the files and leave a mark for each, as one change; as two where state has their text.

    What a person saves meanwhile is looked at again.
    """
    seqs: list[int] = []
    scrub = job.target.scrub()
    for _ in range(ATTEMPTS):
        with suppress(PageChangedError):
            operations = _operations(vault, job, scrub)
            if not operations:
                return tuple(seqs)
            seqs.append(vault.writer.apply(Allowed(_change(job, operations))).seq)
    raise HistoryError("the files are being changed all the time", hint="close their editors and try again")


def _operations(vault: Vault, job: PurgeJob, scrub: Scrub) -> tuple[Operation, ...]:
    files = files_of(vault)
    after = {path: scrub(path, data) for path, data in files.items()}
    pages = [_page(vault, path, files[path], after[path]) for path in files if after[path] != files[path]]
    marked = forgotten_by(lasting_lines(files), {PURGE})
    marks: dict[str, list[dict[str, str]]] = {}
    for each, agent in job.target.ids.items():
        if each not in marked:
            marks.setdefault(agent, []).append({"op": Op.PURGE.value, "memory": each})
    for each, agent in freed_by(files, job.target.ids).items():
        if not scrub.is_foreign(f"{state_ledger(agent).base}/"):
            line = {"op": Op.STORE.value, "memory": each, "store": Store.SHORT_TERM.value}
            marks.setdefault(agent, []).append(line)
    if not marks:
        return tuple(pages)
    folders = tuple(f"{state_ledger(agent).base}/" for agent in marks)
    rest = [page for page in pages if not page.path.startswith(folders)]
    return (*rest, *(AddLines(state_ledger(agent), tuple(lines)) for agent, lines in marks.items()))


def _page(vault: Vault, path: str, before: bytes, after: bytes) -> PutPage:
    is_empty = "/memory/archive/" in path and is_bare(*unpack_file(path, after))
    return PutPage(path, None if is_empty else after, vault.home.hash(before))


def _sweep(vault: Vault, scrub: Scrub) -> None:
    """Take the texts out of what nobody keeps a history of: fragments of ours go, text of others is cut.

    The rest of the home's inside has no texts, once the journal is written afresh. What was deleted before, such as
    the files that clean ones displaced, must not come back after a power cut.
    """
    disk, root = vault.home.disk, vault.home.root
    for folder in (
        Path(folder) for folder, _, _ in os.walk(root) if Path(folder).relative_to(root).parts[:1] != (".git",)
    ):
        disk.sync_dir(folder)
    for path, data in _loose(vault, scrub):
        if not scrub.needles.are_in(data):
            continue
        if _is_fragment(path):
            disk.remove(root / path)
        elif is_text(path, data):
            disk.put(root / path, scrub.needles.cut(data))


def _loose(vault: Vault, scrub: Scrub) -> Iterator[tuple[str, bytes]]:
    """The files of the home that nobody keeps a history of."""
    for path in walk(vault.home.root):
        named = path.relative_to(vault.home.root).as_posix()
        is_inside = named.startswith((".git/", f"{vault.home.internal.name}/")) or is_tracked(named)
        if (_is_fragment(named) or not is_inside) and not scrub.is_foreign(named):
            yield named, vault.home.disk.read(path) or b""


def _is_fragment(path: str) -> bool:
    return path.startswith(f"{INTERNAL}/{TORN}/") or path.endswith(".tmp")


def clean_cache(vault: Vault, job: PurgeJob, rebuild: Rebuild | None) -> list[str]:
    """Let no index outlive the purge; one that another process is building from older files is not used."""
    target = job.target
    vault.home.note_purged()
    if rebuild is not None:
        return list(rebuild([text for text in target.texts if parts_of(text).isdisjoint(target.spared)]))
    for path in walk(vault.config.cache):
        if target.agents is None or path.name.partition(".")[0] in target.agents:
            vault.home.disk.remove(path)
    return []
