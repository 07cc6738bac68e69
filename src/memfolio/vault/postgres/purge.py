"""Destroying memories in a database: from the files, from every version that they had, from caches; then the proof.

All rows change in one transaction, so that a crash leaves either everything or nothing of it to be done again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby
from operator import add, itemgetter
from typing import TYPE_CHECKING

from memfolio.types import Attribution, check_attribution
from memfolio.vault.git.rewrite import Rewritten
from memfolio.vault.postgres.rows import Rows
from memfolio.vault.purge.purge import (
    FOREIGN,
    SEARCHING,
    OnProgress,
    Planner,
    Purged,
    PurgeJob,
    PurgeProof,
    Rebuild,
    allowed,
    clean_cache,
    clean_files,
    quietly,
    reach_of,
    unpacked,
    walk,
)
from memfolio.vault.purge.scrub import Scrub

if TYPE_CHECKING:
    from memfolio.vault.postgres.vault import PostgresVault

LEVEL = (
    "there is no git: every version in the database is rewritten, and no table has it from then on; "
    "`memfolio db vacuum` takes it out of the pages of the tables too, and the server's log, backups and archives "
    "have it until they expire"
)
Piece = tuple[int, int, bytes | None]
"""Where it starts, the change that wrote it, and its bytes."""


def purge(
    vault: PostgresVault,
    ids: Iterable[str],
    *,
    by: Attribution,
    dry_run: bool = False,
    rebuild: Rebuild | None = None,
    agents: Iterable[str] | None = None,
    on_progress: OnProgress | None = None,
) -> Purged:
    """Destroy memories for good, and what was derived from them; with `dry_run`, only say what would go."""
    check_attribution(by)
    reach = reach_of(None if agents is None else frozenset(agents))
    with vault.exclusive():
        planner = Planner(vault, reach, partial(contents, vault.rows))
        plan = planner.plan(list(ids), git=LEVEL, counts=dry_run)
        if dry_run:
            return Purged(plan=plan)
        job = allowed(vault, PurgeJob(target=plan.target, by=by, rewrites=True))
        seqs = clean_files(vault, job)
        scrub = job.target.scrub()
        history = _rewrite(vault.rows, scrub)
        vault.home.note_purged()
    left = clean_cache(vault, job, rebuild)
    proof = _prove(vault, scrub, left, job.unsought(), on_progress or quietly)
    return Purged(plan=replace(plan, history=history.files), seqs=seqs, history=history, proof=proof)


def versions(rows: Rows) -> Iterator[tuple[str, int, list[Piece]]]:
    """Every version of every file, with its pieces in order; one file at a time, since all may be a lot."""
    sql = "SELECT DISTINCT path FROM memfolio.pieces WHERE home = %s ORDER BY path"
    for (path,) in rows.ask(sql, [rows.home]):
        of_file = "SELECT version, start, seq, data FROM memfolio.pieces WHERE home = %s AND path = %s"
        found = rows.ask(f"{of_file} ORDER BY version, start", [rows.home, path])
        for version, pieces in groupby(found, key=itemgetter(0)):
            yield path, version, [(start, seq, data) for _, start, seq, data in pieces]


def contents(rows: Rows) -> Iterator[tuple[str, bytes]]:
    """Every content that a file had, the longest of each version."""
    for path, _, pieces in versions(rows):
        yield path, b"".join(data or b"" for _, _, data in pieces)


def _rewrite(rows: Rows, scrub: Scrub) -> Rewritten:
    """Put other pieces in the place of those that have something of it; the changes that wrote them stay the same."""
    changed: Counter[str] = Counter()
    total = 0
    for path, version, pieces in list(_stained(rows, scrub)):
        total += 1
        changed[path] += 1
        gone = "DELETE FROM memfolio.pieces WHERE home = %s AND path = %s AND version = %s"
        rows.later(gone, [rows.home, path, version])
        for start, seq, data in scrubbed(path, pieces, scrub):
            sql = "INSERT INTO memfolio.pieces (home, path, version, start, seq, data) VALUES (%s, %s, %s, %s, %s, %s)"
            rows.later(sql, [rows.home, path, version, start, seq, data])
    for table in ("vectors", "waiting"):  # which of them are of that text, nobody can tell
        rows.later(f"DELETE FROM memfolio.{table} WHERE home = %s", [rows.home])
    rows.later("UPDATE memfolio.jobs SET error = NULL WHERE home = %s", [rows.home])
    rows.send()
    return Rewritten(commits=total, changed=total, files=dict(changed), references=())


def _stained(rows: Rows, scrub: Scrub) -> Iterator[tuple[str, int, list[Piece]]]:
    for path, version, pieces in versions(rows):
        whole = b"".join(data or b"" for _, _, data in pieces)
        if scrub(path, whole) != whole:
            yield path, version, pieces


def scrubbed(path: str, pieces: list[Piece], scrub: Scrub) -> list[Piece]:
    """The pieces of one version as if what is purged had never been in it."""
    states = accumulate((data or b"" for _, _, data in pieces), add)
    done, made = b"", list[Piece]()
    for (_, seq, _), state in zip(pieces, states, strict=True):
        after = scrub(path, state)
        if not after.startswith(done):  # what came later changed what stands before: all of it counts from here on
            done, made = b"", []
        if after != done:
            made.append((len(done), seq, after[len(done) :]))
        done = after
    return made or [(0, pieces[0][1], b"")]


def _prove(
    vault: PostgresVault, scrub: Scrub, left: Iterable[str], unsought: tuple[str, ...], on_progress: OnProgress
) -> PurgeProof:
    """Search every version, every note, and this server's caches."""
    rows, found, count = vault.rows, list(left), 0
    every = rows.ask("SELECT count(DISTINCT (path, version)) FROM memfolio.pieces WHERE home = %s", [rows.home])
    total = int(every[0][0])
    for path, version, pieces in versions(rows):
        on_progress(SEARCHING, count, total)
        count += 1
        if scrub.fine.are_in(unpacked(b"".join(data or b"" for _, _, data in pieces))):
            found.append(FOREIGN if scrub.is_foreign(path) else f"version {version} of {path}")
    notes = rows.ask("SELECT name, data FROM memfolio.notes WHERE home = %s", [rows.home])
    found += [f"the note {name}" for name, data in notes if scrub.fine.are_in(data)]
    cached = [path for path in walk(vault.config.cache) if path.is_file()]
    found += [str(path) for path in cached if scrub.fine.are_in(unpacked(path.read_bytes()))]
    files = len(vault.journal.files)
    return PurgeProof(
        files=files, cached=len(cached), objects=count, left=tuple(dict.fromkeys(found)), unsought=unsought
    )
