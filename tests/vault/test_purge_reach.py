"""How far a purge reaches: every copy of the words goes, and nobody else's words do."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import NotFoundError, RefusedError
from memfolio.types import Attribution
from memfolio.vault.purge.purge import Purged, purge
from memfolio.vault.purge.scrub import Needles
from memfolio.vault.vault import PURGE, Vault
from tests.vault.proof import BOT, git, item
from tests.vault.test_purge import LOG, PERSON, SECRET, add, everything, opened, purged, put, sound

STATE = "agents/main/memory/meta/state"
TALE = (
    "Grandmother hides the spare key under the third blue flowerpot. "
    "The alarm code changes every Monday to the day's number. "
    "Nobody but the two of us may ever know."
)
SENTENCES = ("under the third blue flowerpot", "alarm code changes every Monday", "the two of us may ever know")


@pytest.fixture
def vault(quick_path: Path, clock: SettableClock) -> Iterator[Vault]:
    with opened(quick_path / "home", clock) as vault:
        yield vault


def note(vault: Vault, *lines: dict[str, object]) -> None:
    from memfolio.vault.paths import state_ledger

    vault.add_lines(state_ledger("main"), list(lines), BOT)
    assert vault.commit() == 0


def state(vault: Vault) -> list[dict[str, object]]:
    text = (vault.home.root / STATE / "0001.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def left(done: Purged) -> tuple[str, ...]:
    assert done.proof is not None
    return done.proof.left


# What is looked for


def test_a_text_in_state_is_cut_there_and_everywhere(vault: Vault) -> None:
    secret = add(vault, SECRET)
    note(vault, {"op": "context", "task": SECRET, "scratchpad": {"n": SECRET, "m": "mine"}, "topics": [SECRET, "x"]})
    put(vault, "agents/main/memory/checkpoints/2026-11-15-143000.md", f"# Checkpoint\n\n- {SECRET}\n- lunch\n")
    assert purged(vault, secret).is_clean
    assert b"48-15-16" not in everything(vault.home.root)
    context = next(line for line in state(vault) if line["op"] == "context")
    assert (context.get("task"), context["scratchpad"], context["topics"]) == (None, {"m": "mine"}, ["x"])


def test_what_a_session_learned_from_a_purged_turn_alone_goes(vault: Vault) -> None:
    secret, other = add(vault, SECRET), add(vault, "Lunch is with Bert")
    mentions = [{"name": "Zelda", "in": [secret]}, {"name": "Bert", "in": [secret, other]}]
    relations = [{"subject": "Zelda", "object": "safe", "in": [secret]}]
    note(vault, {"op": "session", "turns": 2, "mentions": mentions, "relations": relations})
    purged(vault, secret)
    session = next(line for line in state(vault) if line["op"] == "session")
    assert (session["mentions"], session["relations"]) == ([{"name": "Bert", "in": [other]}], [])


@pytest.mark.parametrize("mark", ["# ", "## ", "source: ", "<!-- "])
def test_a_memory_that_has_the_text_behind_a_mark_of_ours_is_a_quote(vault: Vault, mark: str) -> None:
    secret = add(vault, SECRET)
    quote = add(vault, f"Notes of the day\n{mark}{SECRET}\nmore words here")
    with pytest.raises(RefusedError, match=quote):
        purge(vault, [secret], by=PERSON)


def test_a_configuration_that_has_the_text_is_reported(vault: Vault) -> None:
    secret = add(vault, SECRET)
    config = vault.home.root / "memfolio.toml"
    config.write_text(f"{config.read_text()}# {SECRET}\n")
    vault.survey()
    vault.commit()
    put(vault, "agents/main/MEMORY.md", f"- {SECRET}\n- lunch\n")
    done = purge(vault, [secret], by=PERSON)
    assert left(done)[0] == "memfolio.toml"
    assert (vault.home.root / "agents/main/MEMORY.md").read_text() == "- lunch\n"


def test_a_very_short_text_is_not_claimed_to_be_gone(vault: Vault) -> None:
    pin = add(vault, "X9#7q")
    done = purge(vault, [pin], by=PERSON)
    assert left(done) == ()
    assert not done.is_clean
    assert done.proof is not None
    assert "too short" in done.proof.unsought[0]


def test_a_short_text_is_never_cut_from_peoples_pages_unseen(vault: Vault) -> None:
    page, words = "agents/main/memory/procedures/deploy.md", "Deploy to staging first, then on.\n"
    put(vault, page, words)
    (vault.home.root / "notes.txt").write_text("check the staging box\n")
    short = add(vault, "staging")
    with pytest.raises(RefusedError, match=r"procedures/deploy\.md, notes\.txt"):
        purge(vault, [short], by=PERSON)
    assert (vault.home.root / page).read_text() == words
    (vault.home.root / page).write_text("Deploy there first, then on.\n")
    (vault.home.root / "notes.txt").unlink()
    assert purged(vault, short).is_clean
    assert "staging" not in git(vault.home.root, "log", "-p", "--all")


def test_a_sentence_is_cut_with_its_end() -> None:
    needles = Needles.of(["Her pin is 4711 these days"])
    for before, after in (
        ("Her pin is 4711 these days. Priya lives here.\n", "Priya lives here.\n"),
        ("Priya lives here. Her pin is 4711 these days. She cooks.\n", "Priya lives here. She cooks.\n"),
        ("- Her pin is 4711 these days.\n", ""),
        ("She said: Her pin is 4711 these days, and left.\n", "She said: and left.\n"),
    ):
        assert needles.cut(before.encode()).decode() == after


# What was made of it


@pytest.mark.parametrize("source", ["consolidation", "summary", "pattern", "correction"])
def test_a_summary_goes_along_and_what_it_quotes_of_others_stays(vault: Vault, source: str) -> None:
    tale, other = add(vault, TALE), add(vault, "Grandmother bought new flowerpots and a lamp")
    text = f"{TALE[:62]}\n\n- {TALE[:90]}… ({tale})\n- Grandmother bought new flowerpots and a lamp ({other})"
    summary = add(vault, text, source=source, derived_from=(tale, other))
    note(vault, {"op": "store", "memory": other, "store": "long_term", "into": summary})
    page = "agents/main/memory/weekly/2026-W46.md"
    first = TALE.split(". ")[0]
    put(vault, page, f"# Week\n\n- {TALE[:90]}… ({tale})\n- {first}.\n- new flowerpots and a lamp ({other})\n")
    done = purged(vault, tale)
    assert done.is_clean
    assert {each.id: each.why for each in done.plan.memories} == {tale: "", summary: "sums up one of these"}
    assert [each.id for each in vault.entries("main")] == [other]
    assert (vault.home.root / page).read_text() == f"# Week\n\n- new flowerpots and a lamp ({other})\n"
    rest = everything(vault.home.root)
    assert not [each for each in SENTENCES if each.encode() in rest]
    freed = [line for line in state(vault) if line["op"] == "store"][-1]
    assert (freed["memory"], freed["store"], freed.get("into")) == (other, "short_term", None)


def test_a_source_that_never_went_into_the_summary_stays_where_it_is(vault: Vault) -> None:
    tale, other = add(vault, TALE), add(vault, "Grandmother bought new flowerpots and a lamp")
    add(vault, "Two memories about keys", source="summary", derived_from=(tale, other))
    note(vault, {"op": "store", "memory": other, "store": "long_term"})
    purged(vault, tale)
    assert [line for line in state(vault) if line["op"] == "store"][-1]["store"] == "long_term"


def test_a_summary_that_is_named_goes_and_its_sources_stay(vault: Vault) -> None:
    tale, other = add(vault, TALE), add(vault, "Grandmother bought new flowerpots and a lamp")
    text = f"**Two memories about keys**\n\n{TALE[:62]}. And there is more.\n\n- {TALE[:90]}… ({tale})"
    summary = add(vault, text, source="consolidation", derived_from=(tale, other))
    assert purged(vault, summary).is_clean
    assert [each.id for each in vault.entries("main")] == [tale, other]


def test_a_page_of_ours_is_left_without_needless_blank_lines(vault: Vault) -> None:
    secret, page = add(vault, SECRET), "agents/main/sessions/2026-11-15-s1.md"
    begin, end = "<!-- memfolio:begin 0123456789abcdef -->", "<!-- memfolio:end -->"
    put(vault, page, f"{begin}\n## Summary\n\n- {SECRET}\n\n## Turns\n\n- 14:30 user: a safe… ({secret})\n{end}\n")
    purged(vault, secret)
    assert (vault.home.root / page).read_text() == f"{begin}\n## Summary\n\n## Turns\n{end}\n"


def test_a_line_of_another_memory_that_cites_it_is_cut(vault: Vault) -> None:
    secret, other = add(vault, SECRET), add(vault, "Lunch is at noon")
    report = add(vault, f"Told today:\n- something about a safe ({other}, {secret})\n- when lunch is ({other})")
    said = add(vault, f"That was said before ({secret})")
    purged(vault, secret)
    found = {each.id: each.content for each in vault.entries("main")}
    assert found[report] == f"Told today:\n- when lunch is ({other})"
    assert found[said] == "That was said before"


def test_a_sentence_in_another_memory_is_told(vault: Vault) -> None:
    tale = add(vault, TALE)
    other = add(
        vault, "He said it again: the alarm code changes. The alarm code changes every Monday to the day's number."
    )
    done = purge(vault, [tale], by=PERSON)
    assert done.plan.related == (other,)
    assert left(done)[0] == LOG


# What a person wrote


def test_a_persons_page_loses_only_the_id(vault: Vault) -> None:
    secret = add(vault, SECRET)
    page = "agents/main/memory/procedures/trip.md"
    put(
        vault,
        page,
        f"Book it by Friday (why: ^{secret}), then call Bert.\nSee [[{secret}|this]] and ({secret}) more.\n",
    )
    purged(vault, secret)
    assert (vault.home.root / page).read_text() == "Book it by Friday (why: ), then call Bert.\nSee  and more.\n"


def test_a_fact_with_another_source_stays(vault: Vault) -> None:
    secret, other = add(vault, SECRET), add(vault, "Lunch is at noon")
    facts = "agents/main/knowledge/facts/0001.jsonl"
    both, alone = {"id": "F-1", "derived_from": [secret, other]}, {"id": "F-2", "derived_from": [secret]}
    put(vault, facts, "".join(f"{json.dumps(each)}\n" for each in (both, alone)))
    purged(vault, secret)
    lines = (vault.home.root / facts).read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"id": "F-1", "derived_from": [other]}]


def test_a_file_that_is_no_text_is_reported_and_left_whole(vault: Vault) -> None:
    secret = add(vault, SECRET)
    picture = vault.home.root / "agents/main/files/pic.png"
    picture.parent.mkdir()
    raw = b"\x89PNG\r\n\x1a\n\0\0tEXt " + SECRET.encode() + b" \0\xff\xfe"
    picture.write_bytes(raw)
    vault.survey()
    vault.commit()
    done = purge(vault, [secret], by=PERSON)
    assert picture.read_bytes() == raw
    assert left(done)[0] == "agents/main/files/pic.png"
    sound(vault)


# What other agents have


def test_another_agents_memory_is_as_one_that_is_nowhere(vault: Vault) -> None:
    add(vault, "Lunch is at noon")
    bobs = vault.add("bob", [item(SECRET)], BOT).ids[0]
    with pytest.raises(NotFoundError) as nowhere:
        purge(vault, ["M-1794753005123-00000000"], by=PERSON, agents=["main", "shared"])
    for dry_run in (True, False):
        with pytest.raises(NotFoundError) as foreign:
            purge(vault, [bobs], by=PERSON, agents=["main", "shared"], dry_run=dry_run)
        assert foreign.value.message.replace(bobs, "X") == nowhere.value.message.replace(
            "M-1794753005123-00000000", "X"
        )
    assert [each.content for each in vault.entries("bob")] == [SECRET]


def test_what_another_agent_has_is_left_and_not_named(vault: Vault) -> None:
    secret = add(vault, SECRET)
    bobs = vault.add("bob", [item(SECRET)], BOT).ids[0]
    vault.commit()
    (vault.home.root / "agents/bob/draft.md~").write_text(SECRET)
    done = purge(vault, [secret], by=PERSON, agents=["main", "shared"])
    assert [each.id for each in done.plan.memories] == [secret]
    assert left(done) == ("another agent's files",)
    assert bobs not in repr(done)
    assert [each.content for each in vault.entries("bob")] == [SECRET]
    assert (vault.home.root / "agents/bob/draft.md~").read_text() == SECRET
    assert SECRET not in git(vault.home.root, "log", "-p", "--all", "--", "agents/main")
    sound(vault)


def test_a_memory_reaches_only_what_its_agent_may_read(quick_path: Path) -> None:
    from memfolio.memory import Memory

    home = quick_path / "home"
    with Memory.open(home, agent="bob", background=False) as bob:
        theirs = bob.remember(SECRET)
    with Memory.open(home, background=False) as memory:
        mine = memory.remember(SECRET)
        with pytest.raises(NotFoundError):
            memory.purge(theirs.id, dry_run=True)
        done = memory.purge(mine.id)
        assert left(done) == ("another agent's files",)
    with Memory.open(home, agent="bob", background=False) as bob:
        assert [hit.memory.content for hit in bob.recall("safe combination")] == [SECRET]


# Git and crashes


def test_a_killed_move_of_a_branch_leaves_no_lock_in_the_way(vault: Vault, clock: SettableClock) -> None:
    home, secret = vault.home.root, add(vault, SECRET)
    git(home, "branch", "side")
    git(home, "pack-refs", "--all")
    moved, locks = "memfolio-moved.new", ("refs/heads/main", "refs/heads/side", "packed-refs")
    for number, (lock, scratch) in enumerate(zip(locks, ("memfolio-ref.new", moved, moved), strict=True)):
        scene = home.with_name(f"killed-{number}")
        shutil.copytree(home, scene)
        (scene / ".git" / scratch).write_text("x")
        os.link(scene / ".git" / scratch, scene / f".git/{lock}.lock")
        with opened(scene, clock) as killed:
            purged(killed, secret)
            assert SECRET.encode() not in everything(scene)
            add(killed, "and on it goes")
        assert not [path for path in (scene / ".git").rglob("*") if path.name.endswith((".lock", ".new"))]


def test_packed_references_do_not_keep_old_commits(vault: Vault) -> None:
    home, secret = vault.home.root, add(vault, SECRET)
    git(home, "tag", "-a", "v1", "-m", "a tag")
    git(home, "branch", "side")
    git(home, "pack-refs", "--all")
    before = git(home, "rev-parse", "side", "v1", "v1^{commit}").split()
    purged(vault, secret)
    packed = (home / ".git/packed-refs").read_text()
    assert not [each for each in before if each in packed]
    assert git(home, "cat-file", "-t", "v1").strip() == "tag"


def test_the_way_back_to_the_last_branch_stays(vault: Vault) -> None:
    home, secret = vault.home.root, add(vault, SECRET)
    git(home, "checkout", "-q", "-b", "topic")
    git(home, "checkout", "-q", "main")
    purged(vault, secret)
    git(home, "checkout", "-q", "-")
    assert git(home, "branch", "--show-current").strip() == "topic"


def test_a_journal_that_cannot_be_read_is_told_and_kept(vault: Vault, clock: SettableClock) -> None:
    add(vault, "Lunch is at noon")
    journal = vault.home.internal / PURGE
    journal.write_text("{")
    with opened(vault.home.root, clock) as again:
        assert "may be left" in again.notices[-1]
    assert journal.exists()


def test_an_interrupted_purge_leaves_other_agents_indexes_alone(vault: Vault, clock: SettableClock) -> None:
    from memfolio.vault.purge.purge import PurgeJob, save
    from memfolio.vault.purge.scrub import Target

    secret = add(vault, SECRET)
    cache = vault.config.cache
    cache.mkdir(parents=True, exist_ok=True)
    for agent in ("main", "bob"):
        (cache / f"{agent}.v8-000001-00000000.db").write_bytes(b"paid for")
    by = Attribution(actor="human")
    whose = frozenset({"main", "shared"})
    target = Target(ids={secret: "main"}, texts=frozenset({SECRET}), agents=whose)
    save(vault.home, PurgeJob(target=target, by=by, rewrites=True))
    with opened(vault.home.root, clock) as again:
        assert again.notices[-1].endswith("nothing of it is left")
    assert [path.name for path in cache.iterdir()] == ["bob.v8-000001-00000000.db"]
