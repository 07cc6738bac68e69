"""Destroying memories: from the files, from git's history, from caches; then proving that nothing is left."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.errors import DiskError, HistoryError, MemfolioError, PageChangedError, RefusedError
from memfolio.state import Op
from memfolio.types import EMPTY, Action, Attribution, Store, check_attribution, frozen
from memfolio.vault.change import AddLines, Allowed, Change, Operation, PutPage
from memfolio.vault.disk import disk_errors
from memfolio.vault.git.rewrite import Rewritten, check_reach, objects, rewrite, versions
from memfolio.vault.lines import SUFFIX, attribution
from memfolio.vault.move import is_bare
from memfolio.vault.past.rollback import PURGE, forgotten_by, lasting_lines
from memfolio.vault.paths import INTERNAL, OWNER, is_tracked, state_ledger
from memfolio.vault.purge.needles import Needles, parts_of
from memfolio.vault.purge.plan import Planner, PurgePlan
from memfolio.vault.purge.scrub import Scrub, Target, freed_by, is_text, unpack_file
from memfolio.vault.reconcile import TORN, blob_id
from memfolio.vault.vault import PURGE as NAME

if TYPE_CHECKING:
    from memfolio.vault.paths import Home
    from memfolio.vault.vault import Vault


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
            planner = planner_for(vault, reach, past, loose)
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


def planner_for(
    vault: Vault,
    reach: Scrub,
    past: Callable[[], Iterable[tuple[str, bytes]]],
    loose: Mapping[str, bytes] = EMPTY,
) -> Planner:
    """The planner for what is in reach; `past` is every version of every file."""
    own = b" ".join([*KEYS, vault.home.disk.read(vault.home.internal / OWNER) or b""])
    return Planner(
        files={path: data for path, data in files_of(vault).items() if not reach.is_foreign(path)},
        past=lambda: (each for each in past() if not reach.is_foreign(each[0])),
        own=own,
        loose=loose,
        agents=reach.agents,
    )


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
