"""Beliefs, facts, procedures and cases at every door: what they say, and never the fields beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memfolio.memory import Memory
from memfolio.verbs.verb import tools_of
from tests.serve.calls import Run, RunJson

TOOLS = tools_of("all")
TOLD = {
    "What does Alex prefer?": "Alex prefers tea over coffee",
    "What revenue does Acme have?": "Acme has revenue $50,000.",
    "How do I descale the kettle?": "Descale the kettle\n\nWhen to use:\n- white flakes\n\nSteps:\n1. Boil vinegar",
    "What was done when the pump lost pressure?": "Problem: The pump lost pressure\nWhat was done: Called Rita\n"
    "Outcome: it worked. Check the seal",
}


@pytest.fixture
def filled(home: Path) -> Path:
    with Memory.open(home, background=False) as memory:
        memory.mind.believe("Alex prefers tea over coffee", certainty=0.9)
        memory.facts.assert_("Acme", "hasRevenue", "$50,000")
        memory.cases.store(
            {"context": "The pump lost pressure"},
            {"actions": ["Called Rita"]},
            {"success": True, "lessons": "Check the seal"},
        )
        page = home / "agents/main/memory/procedures/descale-the-kettle.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("# Descale the kettle\n\n## Trigger\n- white flakes\n\n## Steps\n1. Boil vinegar\n", "utf-8")
        memory.sync()
    return home


@pytest.mark.parametrize("question", TOLD)
def test_command_line_tells_sentences(filled: Path, cli: Run, cli_json: RunJson, question: str) -> None:
    hit = cli_json("recall", question)["hits"][0]
    assert hit["content"] == TOLD[question]
    words = TOLD[question].split("\n")
    for shown in (cli("recall", question), cli("show", hit["id"]), cli("context", question)):
        assert all(line in shown for line in words), shown
        assert "certainty:" not in shown
        assert "created:" not in shown


@pytest.mark.parametrize("question", TOLD)
def test_tools_tell_sentences(filled: Path, question: str) -> None:
    with Memory.open(filled, background=False) as memory:
        for name in ("recall", "memory_recall", "search_memory"):
            found = TOOLS[name](memory, {"query": question})
            assert json.dumps(TOLD[question])[1:-1] in json.dumps(found, default=str)


def test_what_is_no_memory_says_how_it_is_changed(filled: Path, cli: Run, cli_json: RunJson) -> None:
    [belief] = cli_json("recall", "Alex tea coffee")["hits"]
    assert f"memfolio mind update {belief['id']}" in cli("forget", belief["id"], status=2)
    assert f"memfolio mind retire {belief['id']}" in cli("correct", belief["id"], "Alex drinks milk", status=2)
    assert "mind" in cli("status")
