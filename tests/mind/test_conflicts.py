"""Beliefs that cannot be true together are found, those that go together are not, and the search stays near-linear."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.index.mind_pages import BY_PAGE, MindItem, MindPage
from memfolio.mind.beliefs import Conflict, conflict_page, find_conflicts, reported_hash

Said = Sequence[tuple[str, str]]


def beliefs(said: Said, certainty: float = 0.9) -> tuple[MindItem, ...]:
    text = "\n".join(f"## {title}\nCertainty: {certainty}\n\n{content}\n" for title, content in said)
    return MindPage(BY_PAGE["Beliefs"], text, agent="main", zone=UTC).items


def conflicts(said: Said, certainty: float = 0.9) -> list[Conflict]:
    return find_conflicts(beliefs(said, certainty), {}, 0.6)


STORE = [
    ("Session Store", "Redis is our primary session store."),
    ("Session Store", "Sessions are stored in PostgreSQL after migration."),
]


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("Market demand is growing", "Market demand is declining", "values"),
        ("Market demand grows", "Market demand declines", "values"),
        ("The server is up", "The server is not up", "negation"),
        ("The API supports batch jobs", "The API doesn't support batch jobs", "negation"),
        ("The API can batch", "The API cannot batch", "negation"),
        ("We deploy on Friday", "We never deploy on Friday", "negation"),
        ("We use Redis", "We no longer use Redis", "negation"),
        ("The rent is $2,000", "The rent is $2,010", "values"),
        ("The release is on 2026-11-20", "The release is on 2026-12-01", "values"),
        ("TTL\n12 hours", "TTL\n24 hours", "values"),
        ("Server A\nIt is up.", "Server A is not up", "negation"),
        ("Orders ship with insurance", "Orders ship without insurance", "negation"),
        ("The shop closes at 18:00", "The shop closes at 20:00", "values"),
        ("Headcount is twelve", "Headcount is 14", "values"),
        ("The van carries 600 kg", "The van carries 450 kg", "values"),
    ],
)
def test_contradiction_is_certain(one: str, other: str, kind: str) -> None:
    split = [(title, text) for title, _, text in (each.partition("\n") for each in (one, other))]
    [found] = conflicts(split)
    assert (found.kind, found.is_certain, found.severity) == (kind, True, 0.9)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (STORE, "subject"),
        ([("TTL", "12 hours"), ("TTL", "720 minutes")], "subject"),
        ([("Alex", "likes tea"), ("Alex", "lives in Bonn")], "subject"),
        ([("Alex: likes tea", ""), ("Alex: lives in Bonn", "")], "subject"),
        ([("Session stores", "Redis"), ("Store session", "Postgres")], "similar"),
        ([("Authentcation", "uses tokens"), ("Authentication", "uses cookies")], "similar"),
        ([("Our lawyer is Petra Vogt", ""), ("Our lawyer is Jonas Lind", "")], "values"),
        ([("The server is in Nuremberg", ""), ("The server is in Falkenstein.", "")], "values"),
        ([("Support hours", "9 to 17"), ("Hours of support", "8 to 20")], "similar"),
        ([("The meeting is on Monday", ""), ("The meeting is on Friday", "")], "values"),
        ([("The job needs at least 4 GB", ""), ("The job needs at least 8 GB", "")], "values"),
    ],
)
def test_what_may_go_together_is_only_possible(said: Said, kind: str) -> None:
    [found] = conflicts(said)
    assert (found.kind, found.is_certain) == (kind, False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The distance is 5 km", "The distance is 3.1 miles"),
        ("The tank holds 5 litres", "The tank holds 1.3 gallons"),
        ("Server\nwas down until May", "Server\nis up"),
        ("The server was down until May", "The server is up"),
        ("Server 1 is up", "Server 2 is down"),
        ("Python 3.11 is supported", "Python 3.12 is supported"),
        ("Berlin\nThe rent is 5", "Munich\nThe rent is 7"),
        ("Server A\nIt is up", "Server B\nIt is not up"),
        ("Redis is fast", "Redis is open source"),
        ("Sales grew 5% in 2024", "Sales grew 5% in 2025"),
        ("Sales are 5 EUR in 2024", "Sales are 5 EUR in 2025"),
        ("Berlin low season is May", "Berlin high season is July"),
        ("Demand is not growing", "Demand is declining"),
        ("Travel costs were 4,200 EUR in March", "Travel costs were 3,100 EUR in April"),
        ("The printer is slow on A3", "The printer is fast on A4"),
        ("Mira is German", "Mira is Catholic"),
        ("The same", "The same"),
    ],
)
def test_what_goes_together_is_no_conflict(one: str, other: str) -> None:
    split = [(title, text) for title, _, text in (each.partition("\n") for each in (one, other))]
    assert conflicts(split) == []


def test_what_is_held_for_unlikely_is_in_no_conflict() -> None:
    assert conflicts(STORE, 0.6) == []
    assert conflicts([("API Style", "We might use REST."), ("API Style", "GraphQL could be better.")], 0.3) == []


def test_advice_names_the_one_that_looks_stale() -> None:
    text = """## Store ^B-1-aaaaaaaa\ncertainty: 0.9 · updated: 2026-01-15\n\nRedis\n
## Store ^B-1-bbbbbbbb\ncertainty: 0.85 · updated: 2026-02-20\n\nPostgres\n"""
    items = MindPage(BY_PAGE["Beliefs"], text, agent="main", zone=UTC).items
    [found] = find_conflicts(items, {}, 0.6)
    assert (found.severity, found.advice) == (0.85, "Check B-1-aaaaaaaa first: it is older")


WORDS = st.sampled_from("Server Market is are not up down growing declining 5 6 EUR hours was until Alex:".split())
SAID = st.lists(st.tuples(st.lists(WORDS, min_size=1, max_size=5), st.lists(WORDS, max_size=4)), max_size=14)


@given(SAID, st.integers(1, 9))
def test_conflicts_are_the_same_in_whatever_order(said: list[tuple[list[str], list[str]]], seed: int) -> None:
    items = beliefs([(" ".join(title), " ".join(text)) for title, text in said])
    found = find_conflicts(items, {}, 0.6)
    assert find_conflicts(Random(seed).sample(items, len(items)), {}, 0.6) == found


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_words_can_be_looked_at(title: str, text: str) -> None:
    conflicts([(title, text), ("The server is up", text), (title, "is not up")])


def test_crowd_about_one_subject_is_compared_with_the_surest_and_told_in_part() -> None:
    found = conflicts([("Load", f"The load of shop {number} is {number}") for number in range(3000)])
    assert len(found) == 2999
    page = conflict_page("", "", found, date(2026, 11, 15), UTC)
    assert (page.count("### "), page.count("## 2,999 conflicts")) == (100, 1)


def many(count: int) -> tuple[MindItem, ...]:
    chosen = Random(count)
    words = ["".join(chosen.choices("abdeilmnorstu", k=8)) for _ in range(400)]
    return beliefs([(f"{' '.join(chosen.choices(words, k=2))} {n}", f"It costs {n} EUR.") for n in range(count)])


@pytest.mark.serial
def test_search_is_near_linear() -> None:
    def seconds(items: Sequence[MindItem]) -> float:
        began = process_time()
        find_conflicts(items, {}, 0.6)
        return process_time() - began

    few, more = many(400), many(3200)
    assert min(seconds(more) for _ in range(3)) < 40 * min(seconds(few) for _ in range(3)) + 0.05  # 64 if quadratic


TITLES = st.sampled_from(["<!-- end of beliefs -->", "A (B-1-aaaaaaaa)", "Sky is up"])


@given(st.lists(st.tuples(TITLES, st.text(max_size=20)), max_size=6), st.lists(st.tuples(TITLES, st.text(max_size=9))))
def test_page_is_written_once_whatever_beliefs_say(first: Said, second: Said) -> None:
    day, page = date(2026, 11, 15), "# Mine\n"
    for said in (first, second, second):
        before, found = page, conflicts(said)
        page = conflict_page(before, reported_hash(before), found, day, UTC)
        assert conflict_page(page, reported_hash(page), found, day, UTC) == page
        assert conflict_page("", reported_hash(page), found, date(2026, 11, 16), UTC) == "", (
            "another day has nothing to add"
        )
        assert page.startswith("# Mine\n")
        assert page.count("### ") == len(found)


def test_what_a_person_writes_into_the_page_stays() -> None:
    day = date(2026, 11, 15)
    page = conflict_page("", reported_hash(""), conflicts(STORE), day, UTC).replace(
        "- **Severity**", "Redis it is!\n- **Severity**"
    )
    assert conflict_page(page, reported_hash(page), conflicts(STORE), day, UTC) == page
    after = conflict_page(page, reported_hash(page), conflicts([]), day, UTC)
    assert "Redis it is!" in after
    assert "## No conflict among beliefs" in after
