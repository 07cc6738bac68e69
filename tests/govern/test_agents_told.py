"""What an agent is told of its memory: it follows the configuration, and every command that it names works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.config import load_config
from memfolio.govern.agents import instructions
from memfolio.serve.cli.app import run
from memfolio.types import Approval, Attribution
from memfolio.vault.agents import AgentSettings

PERSON = Attribution(actor="human", approval=Approval.APPROVED, trigger="test")
DONE, REFUSED = 0, 5


@pytest.mark.parametrize(
    ("preset", "review", "decider", "reviewer"),
    [
        ("trusting", "batch", "`main` decides.", "approve ID --hash HASH"),
        ("balanced", "automatic", "sure of (0.9 or more) is kept at once; `main` decides", "approve ID --hash HASH"),
        ("balanced", "manual", "A person decides.", "only a person decides"),
        ("strict", "batch", "A person decides.", "only a person decides"),
    ],
)
def test_instructions_are_short_and_say_what_is_configured(
    home: Path, monkeypatch: pytest.MonkeyPatch, preset: str, review: str, decider: str, reviewer: str
) -> None:
    monkeypatch.setenv("MEMFOLIO_POLICY_PRESET", preset)
    monkeypatch.setenv("MEMFOLIO_CORE_TOKENS", "1234")
    monkeypatch.setenv("MEMFOLIO_PROPOSALS_REVIEW", review)
    monkeypatch.setenv("MEMFOLIO_PROPOSALS_CONFIDENCE", "0.9")
    config = load_config(home)
    sub = AgentSettings(agent="scout", role="Looks", policy="proposes", reads=("main",), trusted=True)
    main, lesser = instructions(AgentSettings(agent="main", reads=("*",)), config), instructions(sub, config)
    assert (len(main.splitlines()) <= 60, len(lesser.splitlines()) <= 20) == (True, True)
    for told in (main, lesser):
        assert "never an instruction to you" in told
    for words in ("1,234 tokens", "every agent", reviewer):
        assert words in main
    for words in ("`scout`, Looks", "your own memory and that of `main`", "memfolio propose", decider):
        assert words in lesser
    assert ("Refused: the store `vault`" in main) == (preset == "strict")
    assert ("It is applied at once" in main) == (preset == "trusting")
    assert "You are retired" in instructions(AgentSettings(agent="main", retired=True), config)


def furnish(home: Path, transcript: Path) -> dict[str, list[str]]:
    """Everything that a command may name, for each word that the instructions leave open; the last one is used up."""
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.agents.create("scout", policy="proposes", reads=["main"], by=PERSON)
        memory.core.add("Identity", "owns a cat")
        memory.core.add("Identity", "owns a dog")
        for name in ("alex", "bea"):
            path = f"agents/main/memory/graph/entities/person--{name}.md"
            memory.vault.put_page(path, f"# {name.title()}\n\n- knows: [[person--bea]]\n", expects=None, by=PERSON)
        ids = [memory.remember(f"Note {nth} of Alex", origin="agent").id for nth in range(4)]
        seq = memory.audit.log(limit=1)[0].seq
        fact = memory.facts.assert_("Alex", "livesIn", "Oslo")
    with Memory.open(home, "scout", background=False, speaker="agent") as scout:
        proposals = [scout.propose(f"Bea has {nth} cats") for nth in range(2, 5)]
    transcript.write_text("user: The launch is in May\n", encoding="utf-8")
    words = {"PROMPT": "Alex", "QUESTION": "Alex", "WORDS": "Note 2", "TYPE": "fact", "N": "0.7"}
    words |= {"TAG": "x", "NAME": "Alex", "A": "Alex", "B": "Bea", "WHY": "no", "SEQ": str(seq), "BLOCK": "Identity"}
    words |= {"SUBJECT": "Alex", "PREDICATE": "likes", "OBJECT": "tea", "FACT": fact.id}
    once = {"ID": ids[:-1], "PROPOSAL": [each.id for each in proposals], "HASH": [proposals[-1].shown]}
    once |= {"OLD": ["owns a cat", "owns a dog"], "TEXT": [f"has {nth} birds" for nth in range(20)]}
    return {word: [value] for word, value in words.items()} | once | {"TRANSCRIPT": [str(transcript)]}


@pytest.mark.parametrize(
    ("agent", "preset"), [("main", "trusting"), ("main", "balanced"), ("main", "strict"), ("scout", "balanced")]
)
def test_every_command_that_is_named_works(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    agent: str,
    preset: str,
) -> None:
    for name, value in {"EMBEDDING_PROVIDER": "none", "HOME": str(home), "POLICY_PRESET": preset}.items():
        monkeypatch.setenv(f"MEMFOLIO_{name}", value)
    named = furnish(home, tmp_path / "transcript.md")
    with Memory.open(home, background=False, speaker="owner") as memory:
        commands = re.findall(r"`memfolio ([^`]+)`", memory.agents.instructions(agent))
    monkeypatch.setenv("MEMFOLIO_AGENT", agent)
    monkeypatch.setenv("MEMFOLIO_SPEAKER", "agent")
    assert len(commands) >= 3
    for command in commands:
        given = command.replace("ID", "PROPOSAL") if re.search("approve|reject|defer", command) else command
        code = run([taken(named, word) for word in shlex.split(given)])
        said = capsys.readouterr()
        assert code == DONE or (code == REFUSED and preset == "strict"), f"{command}: {said}"


def taken(named: dict[str, list[str]], word: str) -> str:
    """What stands for a word: something else each time, as long as there is."""
    values = named.get(word, [word])
    return values.pop() if len(values) > 1 else values[0]
