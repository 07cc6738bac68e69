"""Edits of one memory by several people come together, or are refused with what the memory says."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import ConflictError, ContentError, EditConflictError, InputError, PolicyError
from memfolio.govern.update import Updated, merged, update
from memfolio.memory import Memory
from memfolio.types import Attribution
from memfolio.vault.journal import TrailLine

BY = Attribution(actor="human", trigger="test")
RENT = "The rent is 900 euro. Payment is due on the first."


def edit(memory: Memory, id: str, text: str, base: str | None = None) -> Updated:
    return memory.update(id, text, base=base, by=BY)


def says(memory: Memory, query: str) -> list[str]:
    return [hit.memory.content for hit in memory.recall(query)]


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        (
            "The rent is 950 euro. Payment is due on the first.",
            RENT,
            "The rent is 950 euro. Payment is due on the first.",
        ),
        (
            "The rent is 950 euro. Payment is due on the first.",
            "The rent is 900 euro. Payment is due on the third.",
            "The rent is 950 euro. Payment is due on the third.",
        ),
        (f"In Bern: {RENT}", f"{RENT} Kim pays it.", f"In Bern: {RENT} Kim pays it."),
        ("The rent is 950 euro. Payment is due on the first.",) * 2
        + ("The rent is 950 euro. Payment is due on the first.",),
        (
            "The rent is 950 euro. Payment is due on the first.",
            "The rent is 800 euro. Payment is due on the first.",
            None,
        ),
        (
            "The rent is 950 euro. Payment is due on the first.",
            "The rent is 900 francs. Payment is due on the first.",
            None,
        ),
        (f"{RENT} Kim pays it.", f"{RENT} Alex pays it.", None),
        (RENT, RENT, RENT),
        ("The rent is gone", "The rent is 900 euro. Payment is due on the third.", None),
    ],
)
def test_changes_of_different_words_merge_and_of_the_same_do_not(ours: str, theirs: str, both: str | None) -> None:
    assert merged(RENT, ours, theirs) == both
    assert merged(RENT, theirs, ours) == both


def test_changes_of_different_lines_merge() -> None:
    base = "Shopping:\n- milk\n- bread"
    assert merged(base, f"{base}\n- tea", "Shopping:\n- oat milk\n- bread") == "Shopping:\n- oat milk\n- bread\n- tea"


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("Kim does not like tea", "Kim does like tea", "Kim does not like coffee"),
        ("Alex has a cat", "Alex has no cat", "Alex has a cat named Tom"),
        ("The build fails on Windows", "The build passes on Windows", "The build fails on Windows and macOS"),
        ("Kim has a cat. It is old.", "Kim has a dog. It is old.", "Kim has a cat. It is young."),
        ("Call at 3 p.m. on Monday", "Call at 4 p.m. on Monday", "Call at 3 p.m. on Friday"),
        ("東京に住んでいます", "大阪に住んでいます", "東京に住んでいました"),
    ],
)
def test_nothing_is_put_together_that_nobody_said(base: str, ours: str, theirs: str) -> None:
    assert merged(base, ours, theirs) is None


def test_second_correction_of_one_memory_keeps_what_the_first_changed(memory: Memory) -> None:
    old = memory.remember(RENT)
    first = edit(memory, old.id, "The rent is 950 euro. Payment is due on the first.")
    second = edit(memory, old.id, "The rent is 900 euro. Payment is due on the third.")
    assert (first.merged, second.merged) == (False, True)
    assert second.superseded == (first.memory.id,)
    assert says(memory, "rent") == [second.memory.content] == ["The rent is 950 euro. Payment is due on the third."]
    assert (
        "-The rent is 950 euro. Payment is due on the first.\n+The rent is 950 euro. Payment is due on the third.\n"
        in second.diff
    )


def test_overlap_is_refused_with_what_the_memory_says(memory: Memory) -> None:
    old = memory.remember(RENT)
    edit(memory, old.id, "The rent is 950 euro. Payment is due on the first.")
    head = memory.vault.head
    with pytest.raises(EditConflictError, match="950 euro") as refused:
        edit(memory, old.id, "The rent is 800 euro. Payment is due on the first.")
    assert (refused.value.base, refused.value.wanted) == (RENT, "The rent is 800 euro. Payment is due on the first.")
    assert refused.value.current == "The rent is 950 euro. Payment is due on the first."
    assert memory.vault.head == head


def test_same_correction_twice_is_made_once(memory: Memory) -> None:
    old = memory.remember(RENT)
    first = edit(memory, old.id, "The rent is 950 euro")
    again = edit(memory, old.id, "The rent is 950 euro")
    assert again.memory.id == first.memory.id
    assert again.receipt is None


def test_edit_by_hand_is_part_of_the_correction(memory: Memory, home: Path) -> None:
    old = memory.remember(RENT)
    located = memory.find(old.id)
    assert located is not None
    log = home / located.path
    log.write_text(log.read_text().replace("first", "third"))
    done = update(
        memory.vault, memory.searcher, old.id, "The rent is 950 euro. Payment is due on the first.", BY
    )  # composed before anybody knew of the edit
    assert done.merged
    assert done.memory.content == "The rent is 950 euro. Payment is due on the third."
    assert says(memory, "rent") == [done.memory.content]


def test_named_base_takes_the_place_of_what_is_stored(memory: Memory) -> None:
    item = memory.remember("The rent is 900 euro. Payment is due on the third.")
    done = edit(memory, item.id, "The rent is 950 euro. Payment is due on the first.", base=RENT)
    assert done.memory.content == "The rent is 950 euro. Payment is due on the third."
    with pytest.raises(EditConflictError):
        edit(memory, item.id, "The rent is 950 euro. Payment is due on the tenth.", base=RENT)


def test_edits_at_the_same_time_are_all_kept(memory: Memory) -> None:
    words = "One. Two. Three. Four. Five. Six.".split()
    old = memory.remember(" ".join(words))
    failed: list[Exception] = []

    def work(at: int) -> None:
        mine = [*words]
        mine[at] = mine[at].upper()
        try:
            edit(memory, old.id, " ".join(mine))
        except ConflictError as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(at,)) for at in (0, 2, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert says(memory, "four") == ["ONE. Two. THREE. Four. FIVE. Six."]


@pytest.mark.parametrize(("way", "left"), [("supersede", 1), ("keep", 2), ("ask", 2)])
def test_what_was_overheard_and_is_contradicted_goes_as_the_home_has_it_set(home: Path, way: str, left: int) -> None:
    home.mkdir(exist_ok=True)
    (home / "memfolio.toml").write_text(f'[learn]\nconflicts = "{way}"\n')
    memory = Memory.open(home, background=False)
    memory.observe("user", "Kim works at Acme.", session="s-1")
    memory.end_session("s-1")
    [overheard] = memory.recall("Where does Kim work?", kinds=["semantic"])
    note = memory.remember("Kim works in a red house", type="fact")
    done = edit(memory, note.id, "Kim works at Globex")
    assert len(memory.recall("Where does Kim work?", kinds=["semantic"])) == left
    assert (overheard.memory.id in done.superseded) == (way == "supersede")
    assert [each.id for each in done.conflicts] == ([] if way == "supersede" else [overheard.memory.id])
    assert done.receipt is not None
    memory.audit.undo(done.receipt.seq, by=BY)
    assert {note.id, overheard.memory.id} <= {hit.memory.id for hit in memory.recall("Kim works", kinds=["semantic"])}


def test_what_a_person_said_is_told_and_stays(memory: Memory) -> None:
    kept = memory.remember("Kim works at Acme", type="fact")
    note = memory.remember("Kim works in a red house", type="fact")
    done = edit(memory, note.id, "Kim works at Globex")
    assert [each.id for each in done.conflicts] == [kept.id]
    assert done.superseded == (note.id,)
    edges = [edge for edge in memory.explain(done.memory.id).edges if edge.type == "contradicts"]
    assert [edge.target for edge in edges] == [kept.id]


def test_correction_of_the_past_does_not_replace_what_was_overheard_later(memory: Memory, clock: SettableClock) -> None:
    past = memory.remember("Kim works in a red house", type="fact", at=clock.now() - timedelta(days=1))
    clock.advance(days=9)
    memory.observe("user", "Kim works at Acme.", session="s-1")
    memory.end_session("s-1")
    [later] = memory.recall("Acme", kinds=["semantic"])
    done = edit(memory, past.id, "Kim works at Globex")
    assert [each.id for each in done.conflicts] == [later.memory.id]
    assert done.superseded == (past.id,)


def test_attributes_that_said_the_same_as_the_text_are_gone(memory: Memory) -> None:
    about = {"subject": "user", "predicate": "lives_in", "object": "Paris", "room": "blue"}
    item = memory.remember("The user lives in Paris", attributes=about)
    assert edit(memory, item.id, "The user lives in Berlin").memory.attributes == {"room": "blue"}


@pytest.mark.parametrize(("text", "error"), [("", ContentError), ("  \n", ContentError), (None, InputError)])
def test_what_cannot_be_said_is_refused(memory: Memory, text: str, error: type[Exception]) -> None:
    item = memory.remember(RENT)
    with pytest.raises(error):
        edit(memory, item.id, text)


def test_forgotten_and_replaced_memories_are_not_updated(memory: Memory) -> None:
    gone = memory.remember("The shop closes at six")
    memory.forget(gone.id)
    with pytest.raises(ConflictError, match="forgotten"):
        edit(memory, gone.id, "The shop closes at seven")
    for place in ("Berlin", "Paris"):
        memory.observe("user", f"I live in {place}.", session=place)
        memory.end_session(place)
    [old] = [
        hit.memory
        for hit in memory.recall("user lives Berlin", kinds=["semantic"], include=["superseded"])
        if "Berlin" in hit.memory.content
    ]
    with pytest.raises(ConflictError, match="Paris"):
        edit(memory, old.id, "The user lives in Bern")


def test_what_holds_again_can_be_corrected_again(memory: Memory) -> None:
    for place in ("Acme", "Globex"):
        memory.observe("user", f"Kim works at {place}.", session=place)
        memory.end_session(place)
    [wrong] = memory.recall("Where does Kim work?", kinds=["semantic"])
    memory.forget(wrong.memory.id)
    [right] = memory.recall("Where does Kim work?", kinds=["semantic"])
    assert edit(memory, right.memory.id, "Kim works at Acme in Bern").superseded == (right.memory.id,)


@pytest.mark.parametrize(("text", "fits"), [("The rent is 950 euro", True), ("rent " * 5000, False)])
def test_core_memory_cites_the_correction_if_it_has_room(memory: Memory, text: str, fits: bool) -> None:
    item = memory.remember(RENT)
    memory.core.pin(item.id)
    memory.core.add("identity", f"pays what {item.id} says")
    done = edit(memory, item.id, text)
    core = memory.core.read().text
    assert (f"{text} [{done.memory.id}]" in core) is fits
    assert f"[{item.id}]" not in core
    assert done.memory.pinned


@pytest.mark.parametrize(
    ("origin", "actor", "becomes"),
    [("owner", "human", "owner"), ("owner", "bot:x", "agent"), ("agent", "human", "agent")],
)
def test_correction_is_the_word_of_the_owner_only_if_he_makes_it(
    memory: Memory, origin: str, actor: str, becomes: str
) -> None:
    item = memory.remember(RENT, origin=origin)
    by = Attribution(actor=actor, trigger="test")
    assert memory.correct(item.id, "The rent is 950 euro", by=by).origin == becomes


def test_correction_of_a_stranger_s_word_stays_one(memory: Memory) -> None:
    page = memory.observe("web", "The rent is 1 euro")
    assert edit(memory, page.id, "The rent is 2 euro").memory.origin == page.origin == "untrusted"


def test_policy_sees_whose_word_is_corrected(home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "memfolio.toml").write_text('[policy]\nrows = ["correct by agent from owner: refuse"]\n')
    memory = Memory.open(home, background=False)
    item = memory.remember(RENT, origin="owner")
    with pytest.raises(PolicyError):
        memory.correct(item.id, "The rent is 1 euro")


def test_command_merges_and_says_so(home: Path, memory: Memory) -> None:
    item = memory.remember("The rent is 900 euro. Payment is due on the third.")
    memory.close()
    program = [str(Path(sys.executable).parent / "memfolio"), "correct", "--home", str(home), item.id]
    wanted = ["The rent is 950 euro. Payment is due on the first.", "--base", RENT]
    done = subprocess.run([*program, *wanted], capture_output=True, text=True, timeout=60, check=True)
    assert "+The rent is 950 euro. Payment is due on the third." in done.stdout
    assert "merged" in done.stdout
    refused = subprocess.run(
        [*program, "The rent is 1 euro", "--base", RENT], capture_output=True, text=True, timeout=60, check=False
    )
    assert "950 euro. Payment is due on the third" in refused.stderr


def test_subscribers_hear_of_an_update_once_whatever_others_of_them_do(memory: Memory) -> None:
    heard: list[TrailLine] = []

    def fails(line: TrailLine) -> None:
        raise ValueError(line.seq)

    memory.subscribe(fails)
    memory.subscribe(heard.append)
    item = memory.remember(RENT)
    done = edit(memory, item.id, "The rent is 950 euro")
    assert done.receipt is not None
    assert [line.seq for line in heard] == [done.receipt.seq - 1, done.receipt.seq]
    assert says(memory, "rent") == ["The rent is 950 euro"]
