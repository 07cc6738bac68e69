"""Purge: not a byte of a memory is left, in files, history or caches, and everything else is as it was."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import HistoryError, MemfolioError, NotFoundError, RefusedError
from memfolio.types import Action, Attribution
from memfolio.vault.git.rewrite import rewrite
from memfolio.vault.paths import archive_log
from memfolio.vault.purge.purge import Purged, PurgeJob, purge, save
from memfolio.vault.purge.scrub import Needles, Target
from memfolio.vault.vault import Vault
from tests.disks import QuickDisk
from tests.vault.proof import BOT, configured, git, item

LOG = "agents/main/memory/2026-11-15.md"
SECRET = "The combination of the safe is 48-15-16-23-42"
PERSON = Attribution(actor="human")


@pytest.fixture
def vault(quick_path: Path, clock: SettableClock) -> Iterator[Vault]:
    with opened(quick_path / "home", clock) as vault:
        yield vault


def opened(home: Path, clock: SettableClock, **more: Any) -> Vault:
    return Vault.open(config=configured(home, **more), clock=clock, disk=QuickDisk())


def add(vault: Vault, text: str, **more: Any) -> str:
    """Remember something in a commit of its own."""
    made = vault.add("main", [item(text, **more)], BOT).ids[0]
    assert isinstance(vault.home.clock, SettableClock)
    vault.home.clock.advance(seconds=5)
    assert vault.commit() == 0
    return made


def put(vault: Vault, path: str, text: str) -> None:
    page = vault.page(path)
    vault.put_page(path, text, expects=page.hash if page else None, by=BOT)
    assert vault.commit() == 0


def purged(vault: Vault, *ids: str, **more: Any) -> Purged:
    done = purge(vault, ids, by=PERSON, **more)
    if not more.get("dry_run"):
        assert done.proof is not None
        assert done.proof.left == ()
        sound(vault)
    return done


def sound(vault: Vault) -> None:
    """Trail, files and git agree, and git's own check finds nothing."""
    assert [each for each in vault.verify() if each.level in ("error", "warning")] == []
    assert git(vault.home.root, "fsck", "--full", "--strict").strip() == ""
    assert git(vault.home.root, "status", "--porcelain", "--untracked-files=no").strip() == ""


def everything(folder: Path) -> bytes:
    """All bytes below a folder, git's objects decompressed by git itself."""
    plain = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and "objects" not in path.parts]
    if not (folder / ".git").exists():
        return b"\n".join(plain)
    command = ["git", "-C", str(folder), "cat-file", "--batch", "--batch-all-objects", "--unordered"]
    return b"\n".join([*plain, subprocess.run(command, capture_output=True, check=True).stdout])


def test_no_byte_of_a_purged_memory_is_left(vault: Vault) -> None:
    add(vault, "Lunch is at noon")
    secret = add(vault, SECRET, tags=("confidential",))
    add(vault, "Dinner is at eight")
    count = git(vault.home.root, "rev-list", "--count", "HEAD")
    assert SECRET.encode() in everything(vault.home.root)
    done = purged(vault, secret)
    left = everything(vault.home.root)
    assert SECRET.encode() not in left
    assert b"confidential" not in left
    assert [each.content for each in vault.entries("main")] == ["Lunch is at noon", "Dinner is at eight"]
    assert int(git(vault.home.root, "rev-list", "--count", "HEAD")) == int(count) + 1
    assert done.plan.files.keys() == {LOG}
    assert done.plan.history == {LOG: 2}
    assert done.proof is not None
    assert done.proof.objects > 10


def test_a_preview_changes_nothing(vault: Vault) -> None:
    secret = add(vault, SECRET)
    before, head = everything(vault.home.root), vault.head
    done = purged(vault, secret, dry_run=True)
    assert [each.content for each in done.plan.memories] == [SECRET]
    assert done.proof is None
    assert (everything(vault.home.root), vault.head) == (before, head)


def test_the_trail_says_that_it_was_purged_and_not_what(vault: Vault) -> None:
    secret = add(vault, SECRET)
    done = purged(vault, secret)
    line = vault.trail.line(done.seqs[0])
    assert line is not None
    assert line.action is Action.PURGE
    state = (vault.home.root / "agents/main/memory/meta/state/0001.jsonl").read_text()
    assert f'"op":"purge","memory":"{secret}"' in state


def test_messages_authors_dates_and_modes_stay(vault: Vault) -> None:
    secret = add(vault, SECRET)
    script = vault.home.root / "agents/main/memory/procedures/run.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    git(vault.home.root, "add", "agents/main/memory/procedures/run.sh")
    git(vault.home.root, "commit", "-qm", "by hand")
    vault.survey()
    vault.commit()
    add(vault, "afterwards")
    form = "--format=%an %ae %ad %cn %cd%n%B"
    before = git(vault.home.root, "log", "--reverse", form)
    purged(vault, secret)
    assert git(vault.home.root, "log", "--reverse", form).startswith(before.rstrip())
    assert "100755" in git(vault.home.root, "ls-tree", "HEAD", "agents/main/memory/procedures/run.sh")
    assert set(vault.commits_of(range(1, vault.head))) == set(range(1, vault.head))


def test_an_older_form_of_an_edited_memory_goes_too(vault: Vault) -> None:
    secret = add(vault, "The safe opens with 48-15-16-23-42")
    log = vault.home.root / LOG
    log.write_bytes(log.read_bytes().replace(b"The safe opens with 48-15-16-23-42", b"The safe opens by itself"))
    vault.survey()
    vault.commit()
    purged(vault, secret)
    assert b"48-15-16-23-42" not in everything(vault.home.root)


def test_a_forgotten_memory_is_purged_from_the_archive(vault: Vault) -> None:
    from memfolio.vault.move import cut_out

    secret = add(vault, SECRET)
    cut_out(vault, {LOG: [secret]}, by=BOT, records=[{"op": "tombstone", "memory": secret}])
    vault.commit()
    purged(vault, secret)
    assert not (vault.home.root / archive_log(LOG)).exists()
    assert SECRET.encode() not in everything(vault.home.root)


def test_a_memory_that_only_git_has_is_purged(vault: Vault) -> None:
    add(vault, "something else")
    secret = add(vault, SECRET)
    log = vault.home.root / LOG
    log.write_bytes(log.read_bytes().partition(b"\n\n## 14:30:10")[0] + b"\n")
    vault.home.clock.advance(hours=48)  # type: ignore[attr-defined]
    vault.survey()
    vault.commit()
    assert SECRET.encode() not in log.read_bytes()
    assert not purged(vault, secret).plan.files
    assert SECRET.encode() not in everything(vault.home.root)


def test_hand_written_text_is_purged(vault: Vault) -> None:
    add(vault, "something else")
    log = vault.home.root / LOG
    log.write_bytes(log.read_bytes().replace(b"Sunday\n", b"Sunday\n\n- the spare key lies under the pot\n- a word\n"))
    vault.survey()
    vault.commit()
    note = next(each for each in vault.entries("main") if "spare key" in each.content)
    purged(vault, note.id)
    assert b"spare key" not in everything(vault.home.root)
    assert "a word" in [each.content for each in vault.entries("main")]


def test_what_was_derived_from_it_alone_goes_too(vault: Vault) -> None:
    secret, other = add(vault, SECRET), add(vault, "The safe is in the office")
    alone = add(vault, "There is a safe with a combination", derived_from=(secret,))
    again = add(vault, "Safes have combinations, it seems", derived_from=(alone,))
    both = add(vault, "The office has a safe", derived_from=(secret, other))
    done = purged(vault, secret)
    assert {each.id: each.why for each in done.plan.memories} == {
        secret: "",
        alone: "derived from these alone",
        again: "derived from these alone",
    }
    assert done.plan.related == (both,)
    assert {each.id for each in vault.entries("main")} == {other, both}


def test_pages_lose_the_text_and_the_lines_that_cite_it(vault: Vault) -> None:
    secret = add(vault, SECRET)
    page = "agents/main/memory/weekly/2026-W46.md"
    put(vault, page, f"# Week 46\n\n- {SECRET}\n- a safe was mentioned ({secret})\n- Lunch was good\n")
    facts = "agents/main/knowledge/facts/0001.jsonl"
    put(vault, facts, f'{{"id":"F-1","from":"{secret}","text":"safe"}}\n{{"id":"F-2","text":"lunch"}}\n')
    done = purged(vault, secret)
    assert (vault.home.root / page).read_text() == "# Week 46\n\n- Lunch was good\n"
    assert (vault.home.root / facts).read_text() == '{"id":"F-2","text":"lunch"}\n'
    assert done.plan.files.keys() == {LOG, page, facts}


def test_another_memory_with_the_same_text_must_be_named(vault: Vault) -> None:
    secret, quote = add(vault, SECRET), add(vault, f"Alex said: {SECRET}. Really?")
    before = everything(vault.home.root)
    with pytest.raises(RefusedError, match=quote):
        purged(vault, secret)
    assert everything(vault.home.root) == before
    purged(vault, secret, quote)
    assert b"48-15-16" not in everything(vault.home.root)


def test_a_short_text_is_looked_for_between_word_borders(vault: Vault) -> None:
    put(vault, "agents/main/MEMORY.md", "Remember pin 7788 and spin 77881\n")
    pin = add(vault, "pin 7788")
    purged(vault, pin)
    assert (vault.home.root / "agents/main/MEMORY.md").read_text() == "Remember and spin 77881\n"


def test_nothing_brings_a_purged_memory_back(vault: Vault, clock: SettableClock) -> None:
    first = add(vault, "first of all")
    then = clock.now()
    clock.advance(seconds=60)
    secret = add(vault, SECRET)
    made = vault.head
    last = add(vault, "last of all")
    removed = vault.past.undo(made, by=BOT).receipt
    vault.commit()
    later = clock.now()
    done = purged(vault, secret)
    with pytest.raises(RefusedError, match="cannot be undone"):
        vault.past.undo(done.seqs[0], by=BOT)
    assert removed is not None
    for act in (
        lambda: vault.past.undo(removed.seq, by=BOT),
        lambda: vault.past.rollback(to=later, by=BOT),
        lambda: vault.past.rollback(to=then + timedelta(seconds=62), by=BOT),
        lambda: vault.past.diff(removed.seq),
    ):
        with suppress(MemfolioError):
            act()
        assert SECRET.encode() not in everything(vault.home.root)
    assert {first} <= {each.id for each in vault.entries("main")} <= {first, last}


def test_undoing_the_change_that_made_it_is_refused(vault: Vault) -> None:
    add(vault, "something else")
    secret = add(vault, SECRET)
    made = vault.head
    purged(vault, secret)
    with pytest.raises(RefusedError, match="purged"):
        vault.past.undo(made, by=BOT)
    vault.past.undo(actor=BOT.actor, by=PERSON)
    assert vault.entries("main") == []


def test_other_changes_can_still_be_undone(vault: Vault) -> None:
    add(vault, "one")
    secret = add(vault, SECRET)
    several = vault.add("main", [item("two"), item("three")], BOT)
    add(vault, "four")
    purged(vault, secret)
    vault.past.undo(several.seq, by=BOT)
    assert [each.content for each in vault.entries("main")] == ["one", "four"]
    assert "+two" in vault.past.diff(several.seq)
    assert "four" not in vault.past.diff(several.seq)


def test_branches_tags_stashes_and_reflogs_are_rewritten(vault: Vault) -> None:
    home = vault.home.root
    put(vault, "agents/main/MEMORY.md", "a page\n")
    secret = add(vault, SECRET)
    git(home, "tag", "-a", "v1", "-m", "a tag")
    git(home, "branch", "side")
    for words in ("one way", "another way"):
        (home / "agents/main/MEMORY.md").write_text(f"{words}\n")
        git(home, "stash")
    tip = git(home, "rev-parse", "HEAD")
    git(home, "update-ref", "refs/heads/lost", git(home, "commit-tree", "HEAD^{tree}", "-m", "a loose end").strip())
    git(home, "branch", "-D", "lost")
    git(home, "pack-refs", "--all")
    done = purged(vault, secret)
    assert SECRET.encode() not in everything(home)
    assert done.history is not None
    assert {"refs/heads/side", "refs/tags/v1", "refs/stash"} <= set(done.history.references)
    assert len(git(home, "stash", "list").splitlines()) == 2
    assert git(home, "show", "stash@{1}:agents/main/MEMORY.md") == "one way\n"
    assert git(home, "cat-file", "-t", "v1").strip() == "tag"
    assert tip not in git(home, "reflog", "--all", "--no-abbrev")


@pytest.mark.parametrize("what", ["staged", "detached", "merging", "remote", "worktree"])
def test_a_git_in_somebodys_hands_is_left_alone(vault: Vault, what: str) -> None:
    home = vault.home.root
    secret = add(vault, SECRET)
    if what == "staged":
        (home / "agents/main/note.md").write_text("mine\n")
        git(home, "add", "-A")
    elif what == "detached":
        git(home, "checkout", "-q", "--detach")
    elif what == "merging":
        (home / ".git/MERGE_HEAD").write_text(git(home, "rev-parse", "HEAD"))
    elif what == "remote":
        git(home, "update-ref", "refs/remotes/origin/main", "HEAD")
    else:
        git(home, "worktree", "add", "-q", "-b", "other", str(home.parent / "other"))
    with pytest.raises(RefusedError):
        purge(vault, [secret], by=PERSON)
    assert [each.content for each in vault.entries("main")] == [SECRET]
    assert not (home / ".memfolio/purge.json").exists()


def test_a_home_without_git_loses_it_too(quick_path: Path, clock: SettableClock) -> None:
    with opened(quick_path / "home", clock, git_enabled=False) as vault:
        add(vault, "something else")
        secret = vault.add("main", [item(SECRET)], BOT).ids[0]
        done = purge(vault, [secret], by=PERSON)
        assert "switched off" in done.plan.git
        assert done.is_clean
        assert SECRET.encode() not in everything(vault.home.root)
        add(vault, "and on it goes")
    with opened(quick_path / "home", clock) as vault:
        vault.commit()
        sound(vault)


def test_fragments_and_backups_in_the_home_are_cleaned(vault: Vault) -> None:
    secret = add(vault, SECRET)
    home = vault.home.root
    torn, backup = home / ".memfolio/torn/1-2026-11-15.md", home / "agents/main/memory/2026-11-15.md~"
    torn.parent.mkdir(exist_ok=True)
    torn.write_text(f"## 14:30:05 note\n\n{SECRET}")
    backup.write_text(f"# Sunday\n\n{SECRET}\n")
    purged(vault, secret)
    assert not torn.exists()
    assert backup.read_text() == "# Sunday\n\n"


def test_what_cannot_be_cleaned_is_told(vault: Vault) -> None:
    secret = add(vault, SECRET)
    swap = vault.home.root / "agents/main/memory/.2026-11-15.md.swp"
    swap.write_bytes(b"b0VIM\0\xff" + SECRET.encode())
    done = purge(vault, [secret], by=PERSON)
    assert done.proof is not None
    assert done.proof.left == ("agents/main/memory/.2026-11-15.md.swp",)
    assert not done.is_clean


def test_a_memory_that_is_nowhere_is_not_found(vault: Vault) -> None:
    add(vault, "something")
    with pytest.raises(NotFoundError):
        purge(vault, ["M-1794753005123-00000000"], by=PERSON)


def test_a_compressed_archive_is_cleaned(vault: Vault) -> None:
    from memfolio.vault.lines import pack, text_of
    from memfolio.vault.move import cut_out

    secret, other = add(vault, SECRET), add(vault, "an old story")
    records = [{"op": "tombstone", "memory": each} for each in (secret, other)]
    cut_out(vault, {LOG: [secret, other]}, by=BOT, records=records)
    archive = archive_log(LOG)
    text = vault.page(archive)
    assert text is not None
    vault.put_page(archive, None, expects=text.hash, by=BOT)
    vault.put_page(f"{archive}.gz", pack(f"{archive}.gz", text.content), expects=None, by=BOT)
    vault.commit()
    done = purged(vault, secret)
    assert done.plan.files.keys() == {f"{archive}.gz"}
    left = text_of("any.md.gz", (vault.home.root / f"{archive}.gz").read_bytes())
    assert b"an old story" in left
    assert SECRET.encode() not in left


def test_part_of_a_large_change_that_lost_its_first_entry_is_not_undone(vault: Vault) -> None:
    large = vault.add("main", [item(f"number {number} of a dozen") for number in range(12)], BOT)
    vault.commit()
    purged(vault, large.ids[5])
    assert len(vault.past.undo(large.seq, by=BOT, dry_run=True).diff.split("-number ")) == 12
    purged(vault, large.ids[0])
    with pytest.raises(RefusedError, match="not whole"):
        vault.past.undo(large.seq, by=BOT)
    assert len(vault.entries("main")) == 10


def test_a_purge_that_is_held_up_goes_on_later(vault: Vault, clock: SettableClock) -> None:
    secret = add(vault, SECRET)
    home = vault.home.root
    target = Target(ids={secret: "main"}, texts=frozenset({SECRET}))
    job = PurgeJob(target=target, by=PERSON, rewrites=True)
    save(vault.home, job)
    (home / "agents/main/note.md").write_text("mine\n")
    git(home, "add", "-A")
    with opened(home, clock) as held_up:
        assert "a purge is not finished" in held_up.notices[-1]
        assert SECRET.encode() not in (home / LOG).read_bytes()
    git(home, "reset", "-q")
    with opened(home, clock) as free:
        assert free.notices[-1].endswith("nothing of it is left")
        assert SECRET.encode() not in everything(home)
        free.commit()
        sound(free)


@pytest.mark.parametrize(
    "data",
    [
        "A long secret line",
        "- A long secret line\n",
        '{"text":"A long secret line"}',
        "Say A long secret line twice, A long secret line",
        "A long A long secret line secret line",
        '> A long secret line\n> äöü "x" and more\n',
        '{"text":"\\u00e4\\u00f6\\u00fc \\"x\\" and more"}',
        'a\u0308o\u0308u\u0308 "x" and more',
        "> A long\n> secret line\n",
        "He wrote: A long secret\r\n  line. Then he left.",
        "A  long \t secret line",
    ],
)
def test_a_text_is_found_and_cut_in_every_form(data: str) -> None:
    needles = Needles.of(['A long secret line\näöü "x" and more\nshort'])
    assert needles.are_in(data.encode())
    assert not needles.are_in(needles.cut(data.encode()))
    assert needles.cut(b"nothing of it") == b"nothing of it"


def test_merges_stay_and_signatures_go(vault: Vault) -> None:
    home = vault.home.root
    secret = add(vault, SECRET)
    git(home, "checkout", "-q", "-b", "side")
    (home / "agents/main/side.md").write_text("from the side\n")
    git(home, "add", "agents/main/side.md")
    git(home, "commit", "-qm", "side")
    raw = git(home, "cat-file", "commit", "HEAD")
    head, _, message = raw.partition("\n\n")
    (home.parent / "signed").write_text(f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n\n{message}")
    signed = git(home, "hash-object", "-t", "commit", "-w", str(home.parent / "signed")).strip()
    git(home, "checkout", "-q", "main")
    git(home, "merge", "-q", "--no-ff", "-m", "merged", signed)
    vault.survey()
    vault.commit()
    counts = git(home, "rev-list", "--count", "HEAD"), git(home, "rev-list", "--count", "--merges", "HEAD")
    purged(vault, secret)
    after = git(home, "rev-list", "--count", "HEAD"), git(home, "rev-list", "--count", "--merges", "HEAD")
    assert (int(after[0]), after[1]) == (int(counts[0]) + 1, counts[1])
    assert b"gpgsig" not in everything(home)
    assert "from the side" in git(home, "show", "HEAD:agents/main/side.md")


@pytest.mark.parametrize(
    "text",
    ["source: conversation", "observation", "2026-11-15 · Sunday", "purge", "7788", "committed", "machine", "change"],
)
def test_a_text_that_our_own_lines_have_goes_without_harm_to_them(vault: Vault, text: str) -> None:
    other = add(vault, "something else")
    put(vault, "agents/main/MEMORY.md", "7788 steps\n")
    log = (vault.home.root / LOG).read_bytes()
    common = add(vault, text)
    done = purged(vault, common)
    assert not done.is_clean, "what is not looked for may be left"
    assert done.proof is not None
    assert len(done.proof.unsought) == 1
    assert (vault.home.root / LOG).read_bytes() == log
    assert (vault.home.root / "agents/main/MEMORY.md").read_text() == "7788 steps\n"
    assert [each.id for each in vault.entries("main")] == [other]


@pytest.mark.parametrize("deed", ["commit", "hash-object"])
def test_what_a_person_does_in_git_meanwhile_is_not_lost(vault: Vault, deed: str) -> None:
    home = vault.home.root
    add(vault, SECRET)
    add(vault, "something else")
    (home / "mine.txt").write_text("my own words\n")
    made: list[str] = []

    def scrub(path: str, data: bytes) -> bytes:
        if not made and deed == "commit":
            made.append(git(home, "commit", "-q", "--allow-empty", "-m", "mine"))
        elif not made:
            made.append(git(home, "hash-object", "-w", "mine.txt").strip())
        return data.replace(SECRET.encode(), b"")

    if deed == "commit":
        with pytest.raises(HistoryError, match="somebody else committed"):
            rewrite(vault.history, scrub)
        assert git(home, "log", "-1", "--format=%s").strip() == "mine"
    else:
        assert rewrite(vault.history, scrub).changed
        assert git(home, "cat-file", "blob", made[0]) == "my own words\n"
    assert git(home, "fsck", "--full", "--no-dangling").strip() == ""
