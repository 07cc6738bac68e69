"""Approval: what a person saw is what happens, all at once, once, and can be taken back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import ConflictError, ContentError, InputError, PolicyError, RefusedError
from memfolio.govern.reflection.page import Findings, Insights, ReflectionItem, ReflectionVerb, due
from memfolio.govern.reflection.reflections import Pending, Reflections
from memfolio.types import Action, Approval, Attribution, MemoryItem, Origin, Type
from memfolio.vault.fields import Draft
from memfolio.vault.vault import OWNER
from tests.graph.world import World

META = "agents/main/memory/meta"
PAGE = "---\nname: {0}\ntype: person\n---\n# {0}\n"


class Room:
    """A home in which there is something to reflect on."""

    def __init__(self, home: Path, clock: SettableClock) -> None:
        self.home, self.clock, self.world = home, clock, World(home, clock)
        self.memory = self.world.memory
        names = ("Alex works on memfolio", "Alex lives in Zürich", "Alex lives in Bern", "The CSS bug is odd")
        self.works, self.old, self.new, self.bug = (self.said(name) for name in names)
        for name in ("alex", "alexander", "kim"):
            self.world.save(f"person--{name}", PAGE.format(name.title()))
        self.memory.core.add("Active Context", "Research")
        clock.advance(days=1)

    def said(self, text: str) -> MemoryItem:
        self.clock.advance(seconds=1)
        return self.memory.remember(text)

    @property
    def reflections(self) -> Reflections:
        return self.memory.reflections

    def findings(self) -> Findings:
        learned = ReflectionItem(
            verb=ReflectionVerb.LEARN, text="Alex builds memories", sources=(self.works.id,), type=Type.FACT
        )
        return Findings(
            items=(
                ReflectionItem(
                    verb=ReflectionVerb.CORE, text="Active Context", removed=("Research",), added=("Design",)
                ),
                ReflectionItem(verb=ReflectionVerb.RESOLVE, memory=self.old.id, by=self.new.id),
                ReflectionItem(verb=ReflectionVerb.MERGE, subject="person--alex", object="person--alexander"),
                ReflectionItem(verb=ReflectionVerb.ARCHIVE, memory=self.bug.id, why="score 0.03"),
                learned,
                ReflectionItem(
                    verb=ReflectionVerb.CONNECT, subject="person--alex", predicate="knows", object="person--kim"
                ),
            ),
            insights=Insights(theme="Alex builds things."),
            questions=("Still in Bern?",),
            topics=("memory",),
        )

    def propose(self, findings: Findings | None = None) -> Pending:
        self.clock.advance(minutes=1)
        self.reflections.propose(findings or self.findings(), self.clock.now(), by=OWNER)
        pending = self.reflections.pending()
        assert pending is not None
        return pending

    def edit(self, pending: Pending, old: str, new: str) -> None:
        path = self.home / pending.path
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.home / path).read_text(encoding="utf-8")

    def recalled(self) -> list[str]:
        return sorted(hit.memory.content for hit in self.memory.recall("Alex memories CSS Bern Zürich", limit=20))

    def files(self) -> dict[str, bytes]:
        inside = self.home / "agents"
        return {str(path): path.read_bytes() for path in inside.rglob("*.*") if path.is_file()}


@pytest.fixture
def room(home: Path, clock: SettableClock) -> Iterator[Room]:
    room = Room(home, clock)
    yield room
    room.memory.close()


def test_approval_is_one_change_that_does_everything_and_undo_brings_all_back(room: Room) -> None:
    pending = room.propose()
    assert room.memory.audit.log(limit=1)[0].action is Action.PROPOSE
    before, recalled = room.files(), room.recalled()
    decided = room.reflections.approve(shown=pending.shown, by=OWNER)
    assert (decided.outcome, list(decided.applied), decided.skipped) == ("approved", [1, 2, 3, 4, 5, 6], {})
    newest = room.memory.audit.log(limit=1)[0]
    assert decided.receipt is not None
    assert (newest.seq, newest.action, newest.actor) == (decided.receipt.seq, Action.COMMIT, "reflection:1")
    assert newest.approval == Approval.APPROVED

    assert "- Design" in room.read("agents/main/MEMORY.md")
    assert "Research" not in room.read("agents/main/MEMORY.md")
    old, [learned] = room.memory.get(room.old.id), decided.receipt.items
    assert old is not None
    assert old.superseded_by == room.new.id
    assert (learned.source, learned.derived_from, learned.content) == (
        "reflection",
        (room.works.id,),
        "Alex builds memories",
    )
    assert not any("CSS" in text for text in room.recalled())
    assert room.world.pages() == ["person--alex", "person--kim"]
    assert "- knows: [[person--kim]]" in room.world.page("person--alex")
    assert room.read(pending.path).startswith("> **approved 2026-11-16**\n\n# Reflection Summary")
    assert [(each.number, each.outcome, each.topics) for each in room.reflections.past()] == [
        (1, "approved", ("memory",))
    ]
    assert "- Learned: " in room.read(f"{META}/reflections/log.md")
    assert room.reflections.pending() is None
    room.world.assert_index_follows()

    room.memory.audit.undo(decided.receipt.seq, by=OWNER)
    after = room.files()
    assert {path for path in before if after.get(path) != before[path]} == set()
    assert all("/archive/" in path for path in after.keys() - before.keys())  # where undo keeps what was learned
    assert room.recalled() == recalled
    again = room.reflections.pending()
    assert again is not None
    assert again.shown == pending.shown
    room.world.assert_index_follows()


def test_archived_memory_can_be_restored(room: Room) -> None:
    room.propose()
    room.reflections.approve(by=OWNER)
    room.memory.restore(room.bug.id)
    assert "The CSS bug is odd" in room.recalled()


def test_excepted_and_rejected_items_do_not_come_back(room: Room) -> None:
    items = room.findings().items
    room.propose()
    decided = room.reflections.approve(without=[1, 4], by=OWNER)
    assert (decided.outcome, decided.left_out) == ("partly approved", (1, 4))
    assert "without 1 and 4" in room.read(decided.path)
    assert "Research" in room.read("agents/main/MEMORY.md")
    rejected = room.reflections.rejected()
    assert [item.verb for item in items if item.marks[0] in rejected] == [ReflectionVerb.CORE, ReflectionVerb.ARCHIVE]
    other = ReflectionItem(verb=ReflectionVerb.LEARN, text="Alex is tall", sources=(room.works.id,))
    room.propose(Findings(items=(other,)))
    room.reflections.reject("nobody asked", by=OWNER)
    assert other.marks[0] in room.reflections.rejected()
    assert [each.outcome for each in room.reflections.past()] == ["partly approved", "rejected"]
    assert "- Reason: nobody asked" in room.read(f"{META}/reflections/log.md")
    assert room.memory.audit.log(limit=1)[0].action is Action.REJECT


def test_tenth_reflection_tells_what_became_known_even_if_it_is_rejected(room: Room) -> None:
    for number in range(10):
        item = ReflectionItem(verb=ReflectionVerb.LEARN, text=f"Alex has {number} cats", sources=(room.works.id,))
        room.propose(Findings(items=(item,), topics=("cats",)))
        room.reflections.reject(by=OWNER) if number == 9 else room.reflections.approve(by=OWNER)
    text = room.read(f"{META}/evolution.md")
    assert (
        "**What became known, after 10 reflections** (2026-11-16): Learned since 2026-11-16: Alex has 1 cats; " in text
    )
    assert "Alex has 8 cats. Mostly about cats." in text
    assert "Alex has 9 cats" not in text


def test_page_that_was_edited_needs_to_have_been_seen(room: Room) -> None:
    pending = room.propose()
    room.edit(pending, "Alex builds memories", "Alex builds houses")
    with pytest.raises(ConflictError, match="was edited"):
        room.reflections.approve(by=OWNER)
    with pytest.raises(ConflictError, match="not the page that was looked at"):
        room.reflections.approve(shown=pending.shown, by=OWNER)
    decided = room.reflections.approve(edited=True, by=OWNER)
    assert decided.receipt is not None
    assert [each.content for each in decided.receipt.items] == ["Alex builds houses"]
    assert "as edited" in room.read(pending.path)
    assert room.findings().items[4].marks[0] in room.reflections.rejected()


def test_rejected_line_of_core_memory_does_not_come_back_in_a_changed_block(room: Room) -> None:
    room.memory.remember("The user lives in Bern", type="fact")
    room.memory.remember("The user speaks Italian", type="fact")
    room.memory.reflect()
    pending = room.reflections.pending()
    assert pending is not None
    room.edit(pending, "   + The user lives in Bern\n", "")
    room.reflections.approve(edited=True, by=OWNER)
    assert "- The user speaks Italian" in room.read("agents/main/MEMORY.md")
    room.clock.advance(minutes=1)
    room.memory.remember("The user works at Initech", type="fact")
    again = room.memory.reflect()
    assert "   + The user works at Initech" in again.text
    assert "lives in Bern" not in again.text


def test_decision_that_was_learned_is_known_and_not_learned_again(room: Room) -> None:
    said = "We decided to deploy on Fridays."
    room.memory.observe_many([{"role": "user", "content": said, "session": f"s-{n}"} for n in range(3)])
    assert ReflectionVerb.LEARN in {item.verb for item in room.memory.reflect().items.values()}
    room.reflections.approve(by=OWNER)
    room.clock.advance(minutes=1)
    assert ReflectionVerb.LEARN not in {item.verb for item in room.memory.reflect().items.values()}


def test_what_is_approved_is_as_good_as_what_is_learned_and_replaces_what_it_contradicts(room: Room) -> None:
    pages: list[str] = []

    def approved(*turns: str) -> dict[str, MemoryItem]:
        room.clock.advance(days=1)
        room.memory.observe_many({"role": "user", "content": each, "session": turns[0][:3]} for each in turns)
        room.memory.reflect()
        decided = room.reflections.approve(by=OWNER)
        pages.append(room.read(decided.path))
        assert decided.receipt is not None
        return {item.content: item for item in decided.receipt.items}

    first = approved("Peter is my husband.", "Tom is my brother.", "He lives in Rome.")
    about = first["Peter is the user's husband"].attributes
    assert (about["subject"], about["predicate"], about["object"]) == ("The user", "married_to", "Peter")
    assert "Peter is the user's husband" in room.memory.reflect().text.split("Identity")[1].split("- why")[0]
    rome = first["Tom lives in Rome"]
    assert (rome.importance, rome.attributes["object"]) == (0.8, "Rome")
    assert "Tom lives in Rome" not in room.memory.reflect().text  # nobody called it important
    oslo = approved("Tom moved to Oslo.")["Tom moved to Oslo"]
    assert f"- instead of: Tom lives in Rome ({rome.id})" in pages[-1]
    replaced = room.memory.get(rome.id)
    assert replaced is not None
    assert replaced.superseded_by == oslo.id


def test_edited_page_that_waits_is_not_replaced(room: Room) -> None:
    pending = room.propose()
    room.edit(pending, "Alex builds memories", "Alex builds houses")
    with pytest.raises(ConflictError, match="was edited and waits"):
        room.propose()
    assert "Alex builds houses" in room.read(pending.path)
    (room.home / pending.path).unlink()
    assert "Alex builds memories" in room.propose().text


def test_page_that_cannot_be_read_changes_nothing(room: Room) -> None:
    pending = room.propose()
    room.edit(pending, "(fact, 0.7)", "")
    before = room.recalled()
    with pytest.raises(ContentError, match="does not say what to learn"):
        room.reflections.approve(edited=True, by=OWNER)
    room.edit(pending, "Alex builds memories ", "Alex builds memories (fact, 0.7)")
    with pytest.raises(InputError, match="no item 9"):
        room.reflections.approve(edited=True, without=[9], by=OWNER)
    assert room.recalled() == before
    room.reflections.reject(by=OWNER)


def test_two_people_cannot_both_approve(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        item = ReflectionItem(
            verb=ReflectionVerb.LEARN, text="Alex builds memories", sources=(memory.remember("Alex is a builder").id,)
        )
        memory.reflections.propose(Findings(items=(item,)), memory.vault.home.now(), by=OWNER)
        command = [str(Path(sys.executable).parent / "memfolio"), "approve", "--yes", "--home", str(home)]
        people = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
        told = [person.communicate(timeout=60)[1] for person in people]
        codes = sorted(person.returncode for person in people)
        assert (codes[0], {*codes[1:]} <= {3, 4}) == (0, True), told  # who comes late finds none, or a conflict
        assert sum(b"no reflection is pending" in each for each in told) == 2
        assert sum(hit.memory.source == "reflection" for hit in memory.recall("Alex builds memories")) == 1


def test_what_waits_is_seen_where_the_home_can_only_be_read(room: Room) -> None:
    pending = room.propose()
    with Memory.open(room.home, background=False) as elsewhere:
        assert elsewhere.vault.trouble is not None
        seen = elsewhere.reflections.pending()
        assert seen is not None
        assert seen.text == pending.text


def test_what_changed_meanwhile_is_left_out_and_told(room: Room) -> None:
    room.propose()
    room.memory.forget(room.works.id)
    room.memory.correct(room.old.id, "Alex lived in Zürich")
    room.memory.archive(room.bug.id, by=OWNER)
    room.memory.core.replace("Active Context", "Research", "Research, still")
    (room.home / "agents/main/memory/graph/entities/person--alexander.md").unlink()
    room.memory.sync()
    decided = room.reflections.approve(by=OWNER)
    assert list(decided.applied) == [6]
    assert {number: why.split(" ", 1)[1][:12] for number, why in decided.skipped.items()} == {
        1: "Context has ",
        2: "was replaced",
        3: "is no page a",
        4: "is in the ar",
        5: "was forgotten"[:12],
    }
    assert "5 not done: " in room.read(decided.path)
    assert not any(mark in room.reflections.rejected() for item in room.findings().items for mark in item.marks)


def test_what_strangers_said_stays_in_quarantine_when_it_is_learned(room: Room) -> None:
    draft = Draft(content="Alex owes me money", origin=Origin.UNTRUSTED, role="guest")
    [stranger] = room.memory.vault.add("main", [draft], OWNER).items
    item = ReflectionItem(verb=ReflectionVerb.LEARN, text="Alex owes money", sources=(room.works.id, stranger.id))
    room.propose(Findings(items=(item,)))
    receipt = room.reflections.approve(by=OWNER).receipt
    assert receipt is not None
    assert receipt.items[0].origin is Origin.UNTRUSTED


def test_core_memory_past_its_cap_refuses_the_whole(room: Room) -> None:
    items = (
        *room.findings().items[1:],
        ReflectionItem(verb=ReflectionVerb.CORE, text="Persona", added=("word " * 20_000,)),
    )
    room.propose(Findings(items=items))
    before = room.files()
    with pytest.raises(RefusedError, match="core memory would have"):
        room.reflections.approve(by=OWNER)
    assert room.files() == before
    made = room.reflections.propose(Findings(items=items), room.clock.now(), applies=True, by=OWNER)
    assert made.decided is None
    assert room.reflections.pending() is not None


def test_item_that_cannot_be_done_does_not_stand_in_the_way_of_others(room: Room) -> None:
    core = (
        ReflectionItem(verb=ReflectionVerb.CORE, text=block, added=("Be brief",))
        for block in ("No Such Block", "Persona")
    )
    tie = ReflectionItem(
        verb=ReflectionVerb.CONNECT, subject="person--alex", predicate="knows", object="person--nobody"
    )
    room.propose(Findings(items=(*core, ReflectionItem(verb=ReflectionVerb.LEARN, text="What was purged"), tie)))
    decided = room.reflections.approve(by=OWNER)
    assert list(decided.applied) == [2]
    assert decided.skipped == {
        1: "core memory has no block 'No Such Block'",
        3: "nothing is left of what it was learned from",
        4: "there is no page about person--nobody",
    }


def test_critical_fact_that_leaves_core_memory_may_fade_again(room: Room) -> None:
    room.memory.core.pin(room.bug.id)
    room.propose(
        Findings(items=(ReflectionItem(verb=ReflectionVerb.CORE, text="Critical Facts", removed=(room.bug.content,)),))
    )
    room.reflections.approve(by=OWNER)
    bug = room.memory.get(room.bug.id)
    assert bug is not None
    assert not bug.pinned
    assert "CSS" not in room.read("agents/main/MEMORY.md")


def test_one_reflection_waits_at_a_time_and_none_is_due_meanwhile(room: Room) -> None:
    index, vault = room.memory.searcher.index, room.memory.vault
    assert due(vault, index, "main", room.clock.now()) == "its time of the day has come"
    first = room.propose()
    second = room.propose(replace(room.findings(), questions=()))
    assert not (room.home / first.path).exists()
    assert (first.number, second.number) == (1, 1)
    assert due(vault, index, "main", room.clock.now()) is None
    room.reflections.approve(by=OWNER)
    assert due(vault, index, "main", room.clock.now()) is None
    room.clock.advance(minutes=1)
    room.memory.observe_many([{"role": "user", "content": f"turn {n}", "session": "s-9"} for n in range(49)])
    assert due(vault, index, "main", room.clock.now()) is None
    room.memory.tend(jobs=["sessions"], sessions=["s-9"])
    assert due(vault, index, "main", room.clock.now()) == "a conversation of 49 turns ended"
    room.said("one more")
    assert due(vault, index, "main", room.clock.now()) == "50 entries or more since the last reflection"
    room.reflections.propose(Findings(), room.clock.now(), by=OWNER)
    assert room.reflections.pending() is None
    assert due(vault, index, "main", room.clock.now()) is None


def test_agent_proposes_and_only_who_may_decides(room: Room) -> None:
    agent = Attribution(actor="bot:auto-detect", trigger="reflect")
    room.clock.advance(minutes=1)
    before = room.files()
    assert (
        "Alex builds memories"
        in room.reflections.propose(room.findings(), room.clock.now(), dry_run=True, by=agent).text
    )
    assert room.files() == before
    room.reflections.propose(room.findings(), room.clock.now(), by=agent)
    with pytest.raises(PolicyError, match="reflect"):
        room.reflections.approve(by=agent)
    with pytest.raises(PolicyError, match="reflect"):
        room.reflections.reject(by=agent)
    assert room.reflections.pending() is not None
    made = room.reflections.propose(room.findings(), room.clock.now(), applies=True, by=OWNER)
    assert made.decided is not None
    assert made.decided.outcome == "approved"


def test_memory_that_stands_in_todays_log_waits_if_the_reflection_writes_there(room: Room) -> None:
    fresh = room.said("Rain today")
    learned = ReflectionItem(verb=ReflectionVerb.LEARN, text="It rains", sources=(fresh.id,))
    room.propose(Findings(items=(learned, ReflectionItem(verb=ReflectionVerb.ARCHIVE, memory=fresh.id))))
    decided = room.reflections.approve(by=OWNER)
    assert [item.text for item in decided.applied.values()] == ["It rains"]
    assert "today's log" in decided.skipped[1]
    room.propose(
        Findings(
            items=(
                ReflectionItem(verb=ReflectionVerb.ARCHIVE, memory=fresh.id),
                ReflectionItem(verb=ReflectionVerb.ARCHIVE, memory=room.bug.id),
            )
        )
    )
    room.memory.pin(room.bug.id)
    assert list(room.reflections.approve(by=OWNER).applied) == [1]


class Talk:
    """A conversation that a reflection has read before it was over."""

    def __init__(self, memory: Memory, clock: SettableClock) -> None:
        self.memory, self.clock = memory, clock
        for text in ("I live in Rome.", "I prefer green tea."):
            clock.advance(seconds=1)
            memory.observe("user", text, session="s-1")
        self.pending = memory.reflect()
        clock.advance(minutes=1)

    def approve(self) -> int:
        decided = self.memory.reflections.approve(shown=self.pending.shown, by=OWNER)
        assert decided.outcome == "approved"
        assert decided.receipt is not None
        self.clock.advance(minutes=1)
        return decided.receipt.seq

    def end(self) -> None:
        assert self.memory.tend(sessions=["s-1"]).done[0].error == ""
        self.clock.advance(minutes=1)

    def known(self) -> dict[str, str]:
        """What was learned, by its id."""
        entries = self.memory.vault.entries("main")
        return {each.id: each.content for each in entries if each.role is None}


@pytest.fixture
def talk(home: Path, clock: SettableClock) -> Iterator[Talk]:
    with Memory.open(home, "main", clock=clock, background=False, speaker="owner") as memory:
        yield Talk(memory, clock)


LEARNED = ["The user lives in Rome", "The user prefers green tea"]


def test_what_was_learned_while_a_reflection_waited_is_not_added_again_by_its_approval(talk: Talk) -> None:
    talk.end()
    learned = talk.known()
    assert sorted(learned.values()) == LEARNED
    seq = talk.approve()
    assert talk.known() == learned
    talk.memory.audit.undo(seq, by=OWNER)
    assert talk.known() == learned
    items = [talk.memory.get(each) for each in learned]
    assert all(item and not item.forgotten_at and not item.superseded_by for item in items)


def test_what_was_approved_is_not_learned_again_when_the_conversation_ends(talk: Talk) -> None:
    seq = talk.approve()
    approved = talk.known()
    assert sorted(approved.values()) == LEARNED
    talk.end()
    assert talk.known() == approved
    talk.memory.audit.undo(seq, by=OWNER)
    assert talk.known() == {}


def test_approval_adds_only_what_is_new_and_links_the_rest_to_where_else_it_was_said(talk: Talk) -> None:
    tea = talk.memory.remember("The user prefers green tea", type="preference").id
    seq = talk.approve()
    assert sorted(talk.known().values()) == LEARNED
    assert talk.known()[tea] == LEARNED[1]
    assert [each.content for each in talk.memory.explain(tea).sources] == ["I prefer green tea."]
    talk.memory.audit.undo(seq, by=OWNER)
    assert talk.known() == {tea: LEARNED[1]}


def test_what_was_forgotten_while_a_reflection_waited_is_not_brought_back_by_its_approval(talk: Talk) -> None:
    talk.end()
    tea = next(each for each, content in talk.known().items() if content == LEARNED[1])
    talk.memory.forget(tea)
    decided = talk.memory.reflections.approve(shown=talk.pending.shown, by=OWNER)
    assert list(talk.known().values()) == LEARNED[:1]
    assert any("forgotten" in why for why in decided.skipped.values())


def test_evidence_names_what_items_were_made_of_and_what_cannot_be_applied(room: Room) -> None:
    pending = room.reflections.propose(room.findings(), room.memory.vault.home.now(), by=OWNER)
    found = {each.item.verb: each for each in room.reflections.evidence(pending)}
    assert [each.id for each in found[ReflectionVerb.LEARN].sources] == [room.works.id]
    assert (found[ReflectionVerb.RESOLVE].old, found[ReflectionVerb.RESOLVE].new) == (room.old, room.new)
    assert all(not each.trouble for each in found.values())
    room.memory.forget(room.works.id)
    again = {each.item.verb: each for each in room.reflections.evidence(pending)}
    assert "was forgotten" in again[ReflectionVerb.LEARN].trouble
