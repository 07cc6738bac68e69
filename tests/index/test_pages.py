"""Every page is known for what it is, its name's date is read, and no entity page can stop the index."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.index.read_files import EntityPage, entity_id, mentions, page_date, page_kind, read_entity
from memfolio.types import Kind, Store, Type
from tests.conftest import many

ALEX = "agents/main/memory/graph/entities/person--alex.md"


def alex(text: str) -> EntityPage:
    page = read_entity(ALEX, text)
    assert page is not None
    return page


@pytest.mark.parametrize(
    ("path", "name", "kind"),
    [
        ("agents/main/MEMORY.md", "core", Kind.SEMANTIC),
        ("shared/MEMORY.md", "core", Kind.SEMANTIC),
        ("agents/main/USER.md", "user", Kind.SEMANTIC),
        ("agents/main/SOUL.md", "soul", Kind.SEMANTIC),
        ("agents/main/IDENTITY.md", "identity", Kind.SEMANTIC),
        ("agents/main/AGENTS.md", "agents", Kind.SEMANTIC),
        ("agents/main/TOOLS.md", "tools", Kind.SEMANTIC),
        ("agents/main/mind/Beliefs.md", "mind", Kind.SEMANTIC),
        ("agents/main/memory/procedures/how-to-deploy.md", "procedure", Kind.PROCEDURAL),
        ("agents/main/memory/conflicts/2026-11-15.md", "conflict", Kind.EPISODIC),
        ("agents/main/memory/checkpoints/2026-11-15-143005.md", "checkpoint", Kind.EPISODIC),
        ("agents/main/memory/weekly/2026-W46.md", "digest", Kind.EPISODIC),
        ("agents/main/memory/monthly/2026-11.md", "digest", Kind.EPISODIC),
        ("agents/main/memory/quarterly/2026-Q4.md", "digest", Kind.EPISODIC),
        ("agents/main/sessions/2026-11-15-planning.md", "session", Kind.EPISODIC),
        ("agents/main/memory/graph/entities/person--alex.md", "entity", Kind.SEMANTIC),
        ("agents/main/memory/vault/deep/keys.md", "vault", Kind.SEMANTIC),
        ("agents/main/memory/archive/2026-08/old-plan.md", "archive", Kind.SEMANTIC),
        ("agents/main/memory/meta/evolution.md", "page", Kind.SEMANTIC),
        ("agents/main/memory/graph/entities/notes.md", "page", Kind.SEMANTIC),
        ("agents/main/memory/notes.md", "page", Kind.SEMANTIC),
        ("agents/main/a/b/MEMORY.md", "page", Kind.SEMANTIC),
        ("agents/main/ideas.md", "page", Kind.SEMANTIC),
        ("shared/handbook/rules.md", "page", Kind.SEMANTIC),
    ],
)
def test_a_page_is_known_by_its_place(path: str, name: str, kind: Kind) -> None:
    page = page_kind(path)
    assert page is not None
    assert (page.name, page.kind) == (name, kind)
    assert 0 < page.importance <= 1
    assert page.store is (Store.VAULT if name == "vault" else Store.LONG_TERM)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "memfolio.toml",
        "README.md",
        "audit/2026-11/0001.jsonl",
        "audit/notes.md",
        "agents/notes.md",
        "agents/Not Valid/notes.md",
        "agents/shared/notes.md",
        "agents/main/agent.toml",
        "agents/main/memory/graph/index.md",
        "agents/main/memory/graph/relations.md",
        "agents/main/memory/2026-11-15.md",
        "agents/main/memory/2026-11-15-2.md",
        "shared/memory/2026-11-15.md",
        "agents/main/memory/archive/2026-08/2026-08-01.md",
        "agents/main/memory/meta/proposals/p-1.md",
        "agents/main/memory/meta/reflections/2026-11-15.md",
        "agents/main/memory/meta/state/0001.jsonl",
        "agents/main/knowledge/facts/0001.jsonl",
        "agents/main/picture.png",
        "agents/main/.obsidian/notes.md",
        "agents/main/~$notes.md",
        "agents/main/",
    ],
)
def test_what_is_no_page_is_not_searched_as_one(path: str) -> None:
    assert page_kind(path) is None


@pytest.mark.parametrize(
    ("name", "type_"),
    [("Goals", Type.TASK), ("Learnings", Type.LESSON), ("Desires", Type.PREFERENCE), ("Beliefs", Type.FACT)],
)
def test_pages_of_the_mind_have_the_type_of_what_they_hold(name: str, type_: Type) -> None:
    page = page_kind(f"agents/main/mind/{name}.md")
    assert page is not None
    assert page.type is type_


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2026-11-15.md", date(2026, 11, 15)),
        ("2026-11-15-143005.md", date(2026, 11, 15)),
        ("2026-11-15-planning.md", date(2026, 11, 15)),
        ("meeting 2026-11-15.md", date(2026, 11, 15)),
        ("2026-W46.md", date(2026, 11, 15)),
        ("2026-W53.md", date(2027, 1, 3)),
        ("2024-02.md", date(2024, 2, 29)),
        ("2026-11.md", date(2026, 11, 30)),
        ("2026-Q4.md", date(2026, 12, 31)),
        ("2026-Q2.md", date(2026, 6, 30)),
        ("2025-W53.md", None),
        ("9999-W52.md", None),
        ("2026-Q5.md", None),
        ("2026-13.md", None),
        ("2026-02-30.md", None),
        ("0000-01-01.md", None),
        ("0000-01.md", None),
        ("12026-11-15.md", None),
        ("２０２６-11-15.md", None),
        ("how-to-deploy.md", None),
        ("", None),
    ],
)
def test_the_date_in_a_name_is_its_last_day(name: str, expected: date | None) -> None:
    assert page_date(f"agents/main/memory/weekly/{name}") == expected
    assert page_date(name) == expected


def test_the_date_of_a_folder_is_not_the_page_s() -> None:
    assert page_date("agents/main/memory/archive/2026-08/plan.md") is None


def test_an_entity_is_read_from_its_front_matter() -> None:
    page = alex(
        "---\nname: Alex Kim\naliases: [Alex K., 'Sasha', \"Kim, Alex\", alex kim]\nrole: engineer\n"
        "languages:\n  - English\n  - Korean\nnested:\n  key: value\nnotes: |\n  block\n---\n"
        "# Alex\n\nLeads the memory project\nin Berlin.\n\nMore.\n"
    )
    assert page == EntityPage(
        id="person--alex",
        type="person",
        name="Alex Kim",
        aliases=("Alex K.", "Sasha", "Kim, Alex"),
        summary="Leads the memory project in Berlin.",
        properties={"role": "engineer", "languages": "English, Korean"},
    )


def test_an_entity_is_read_from_plain_text() -> None:
    page = alex(
        "# Alex Kim\n\n- **Aliases**: Alex K., Sasha\n\n## Summary\nLeads the project.\n\n## Facts\n- Likes tea\n"
    )
    assert (page.name, page.aliases, page.summary) == ("Alex Kim", ("Alex K.", "Sasha"), "Leads the project.")
    assert page.properties == {}


@pytest.mark.parametrize("text", ["", "# person--alex\n", "# \n", "---\nname:\n---\n", "<!-- # Wrong -->\n"])
def test_an_entity_without_a_name_is_called_after_its_file(text: str) -> None:
    assert alex(text) == EntityPage(id="person--alex", type="person", name="Alex")


def test_names_of_several_words_and_of_any_script_are_kept() -> None:
    page = read_entity("shared/memory/graph/entities/Project--moltbot-memory.md", "")
    assert page is not None
    assert (page.id, page.type, page.name) == ("project--moltbot-memory", "project", "Moltbot Memory")
    decomposed = entity_id("agents/main/memory/graph/entities/person--ju\u0308rgen.md")
    assert [decomposed] == mentions("[[person--jürgen]]")


@pytest.mark.parametrize(
    "path",
    [
        "agents/main/memory/graph/entities/alex.md",
        "agents/main/memory/graph/entities/--alex.md",
        "agents/main/memory/graph/entities/person--.md",
        "agents/main/memory/graph/entities/deep/person--alex.md",
        "agents/main/person--alex.md",
        "memory/graph/entities/person--alex.md",
        "",
    ],
)
def test_only_pages_in_their_folder_are_entities(path: str) -> None:
    assert read_entity(path, "# Alex\n") is None


@many(300)
@given(
    text=st.lists(
        st.sampled_from(
            [
                "---",
                "\n",
                "name:",
                " ",
                "aliases: [",
                "]",
                ",",
                "- a",
                "'",
                '"',
                "# ",
                "aliases:",
                "a: &b",
                "<!--",
                "-->",
            ]
        )
        | st.text(max_size=8),
        max_size=30,
    ).map("".join)
)
def test_no_entity_page_raises_or_runs_away(text: str) -> None:
    for page in (alex(text), alex(f"---\n{text}\n---\n{text}")):
        assert page.name
        assert len(page.name) <= 200
        assert len(page.summary) <= 1000
        assert "" not in page.aliases
        assert page.name.casefold() not in {alias.casefold() for alias in page.aliases}


@pytest.mark.parametrize(
    "text",
    [
        "---\naliases: [" + "a, " * 20_000 + "]\n---\n",
        "---\naliases:\n" + "".join(f"- {n}\n" for n in range(9_000)) + "---\n",
        "---\n" + "".join(f"k{n}: v\n" for n in range(6_000)) + "---\n",
        "---\nname: " + "x" * 60_000 + "\n---\n",
        "aliases: x\n" * 90_000,
        "# " + "x" * 1_000_000,
        "x " * 500_000,
        "---\n" + "'" * 60_000 + ":\n---\n",
    ],
)
def test_a_hostile_entity_page_is_read_within_bounds(text: str) -> None:
    start = time.process_time()
    page = alex(text)
    assert time.process_time() - start < 2
    assert len(page.aliases) <= 64
    assert len(page.properties) <= 64
    assert len(page.name) <= 200
    assert len(page.summary) <= 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("met [[person--alex]]", ["person--alex"]),
        ("[[person--alex|Alex]] and [[tool--x#Setup]] and [[Person--Alex]]", ["person--alex", "tool--x"]),
        ("[[tool--node.js]] ![[concept--oauth2-pkce]]", ["tool--node.js", "concept--oauth2-pkce"]),
        ("[[entities/person--alex.md]] [[ person--sam ]]", ["person--alex", "person--sam"]),
        ("[[work-item--a--b]]", ["work-item--a--b"]),
        ("[[Alex]] [[person-alex]] [[--x]] [[x--]] [person--alex] [[person--al ex]] [[person--alex", []),
        ("[[a\n--b]] [[]] [[|x]] [[[[person--alex]]]]", ["person--alex"]),
        ("", []),
    ],
)
def test_links_to_entities_are_mentions(text: str, expected: list[str]) -> None:
    assert mentions(text) == expected


@pytest.mark.parametrize(
    "text", ["[[" * 500_000, "[[a--b" * 150_000, "[[" + "a-" * 500_000 + "]]", "[[a--b]]" * 100_000]
)
def test_hostile_links_are_read_in_moments(text: str) -> None:
    start = time.process_time()
    assert len(mentions(text)) <= 1
    assert time.process_time() - start < 2
