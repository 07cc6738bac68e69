"""The home that 0.1 made, and what is asked of it. Needs nothing but the public names, so that 0.1 answers too."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from memfolio import Memory, MemoryItem
from memfolio.clock import SettableClock

FOLDER = Path(__file__).parent
HOME = FOLDER / "home-0.1.tar.gz"
MACHINE = "frozen"
"""The machine that may write the home, as MEMFOLIO_MACHINE."""
NOW = datetime(2026, 1, 12, 10, tzinfo=UTC)
QUESTIONS = {
    "a decision": "What did we choose for the roof of the greenhouse?",
    "a preference": "What does Alex drink?",
    "a correction": "harvest festival",
    "a note by hand": "Who repairs the heating?",
    "a note of OpenClaw": "Which bench has blight?",
    "a paragraph by hand": "How much compost tea goes into the water?",
    "of a part": "Where is sensor 13?",
    "of the vault": "What is the number of the insurance policy?",
    "a page of the vault": "What is the number in the land register?",
    "of the shared agent": "On which floor is the office?",
    "of an approved proposal": "Where do the slugs come from?",
    "a procedure": "How do I water the benches?",
    "of the mind": "What helps tomatoes against blight?",
    "of a user page": "Which languages does Alex speak?",
    "forgotten": "How much does Bernd owe Alex?",
    "purged": "What is the door code?",
    "a commitment": "What is Alex sent every week?",
}
IDS = {
    "decision": "M-1756890183000-dc71cbe4",
    "wrong": "M-1759863661000-ccfab8c8",
    "right": "M-1759863722000-d58118b6",
    "confirmed": "M-1759863783000-b58bdbb7",
    "forgotten": "M-1759863844000-3d3ab30a",
    "purged": "M-1759863966000-78a27a95",
    "pinned": "M-1759864027000-2be98cf9",
    "vault": "M-1759864210000-648c39e0",
    "redacted": "M-1759864393000-3c6f4ada",
    "shared": "M-1762160583000-bcf22377",
    "belief": "B-1759914488000-822ce47c",
    "last": "M-1768209315000-9995f244",
}
PROMPTS = ("What should I tell Alex about the greenhouse roof?", "The heating is broken, whom do I call?")


def unpacked(folder: Path) -> Path:
    """A copy of the home below a folder."""
    with tarfile.open(HOME) as archive:
        archive.extractall(folder, filter="data")
    return folder / "home"


def opened(home: Path, agent: str = "main") -> Memory:
    return Memory.open(home, agent, clock=SettableClock(NOW), background=False, speaker="owner")


def hashes(home: Path) -> dict[str, str]:
    """Every file but those that belong to the program or to git, by its content."""
    files = (path for path in sorted(home.rglob("*")) if path.is_file())
    named = {str(path.relative_to(home)): path for path in files}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in named.items()
        if not name.startswith((".git/", ".memfolio/"))
    }


def asked() -> dict[str, Any]:
    """What a copy of the home answers on its machine, with an index that is built anew."""
    folder = Path(tempfile.mkdtemp(prefix="memfolio-frozen-"))
    settled = {"MEMFOLIO_MACHINE": MACHINE, "MEMFOLIO_CACHE": str(folder / "cache"), "TZ": "UTC"}
    try:
        with patch.dict(os.environ, settled), opened(unpacked(folder)) as memory:
            return answers(memory)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def answers(memory: Memory) -> dict[str, Any]:
    """What the home answers, mostly as ids."""
    memory.sync(embed=True)
    found = {name: memory.recall(asked, limit=3) for name, asked in QUESTIONS.items()}
    return {
        "recall": {name: [_called(hit.memory) for hit in hits] for name, hits in found.items()},
        "recall with filters": _filtered(memory),
        "get": {name: _got(memory, each) for name, each in IDS.items()},
        "explain": _explained(memory, IDS["wrong"]),
        "facts": sorted(
            [each.subject, each.predicate, str(each.object), each.confidence] for each in memory.facts.query()
        ),
        "rules": sorted([each.id, each.name, each.enabled] for each in memory.rules.list()),
        "cases": [each.id for each in memory.cases.list()],
        "domains": [str(each.name) for each in memory.ontology.domains()],
        "mind": [[each.id, each.kind.name, each.title] for each in memory.mind.items()],
        "procedures": [[each.name, each.version] for each in memory.procedures.list()],
        "runs": [[each.id, each.procedure, each.outcome and str(each.outcome)] for each in memory.runs.list()],
        "entities": sorted(each.name for each in memory.graph.entities()),
        "proposals": [each.id for each in memory.proposals.pending()],
        "reflections": [[each.number, each.outcome] for each in memory.reflections.past()],
        "agents": [each.id for each in memory.agents.list()],
        "log": [_line(each) for each in memory.audit.log(limit=30)],
        "status": _counted(memory),
        "context": {prompt: bool(memory.context(prompt)) for prompt in PROMPTS},
    }


def _called(item: MemoryItem) -> str:
    return f"{item.id}: {item.content.splitlines()[0][:70]}"


def _filtered(memory: Memory) -> dict[str, list[str]]:
    asked = {
        "tag": memory.recall("the greenhouse", tags=["two words"]),
        "type": memory.recall("the greenhouse", types=["decision"]),
        "user": memory.recall("tea", user="Alex", limit=3),
        "session": memory.recall("boiler", session="s-jan", limit=3),
        "superseded": memory.recall("harvest festival", include=["superseded"], limit=3),
        "archived": memory.recall("rain of the weather station", include=["archived"], limit=3),
        "quarantined": memory.recall("buy seeds", include=["quarantined"], limit=3),
        "as of": memory.recall("harvest festival", as_of="2025-10-07T19:01:30+00:00", limit=1),
        "weekly": memory.recall("greenhouse", level="weekly", limit=3),
        "monthly": memory.recall("greenhouse", level="monthly", limit=3),
        "quarterly": memory.recall("greenhouse", level="quarterly", limit=3),
    }
    return {name: [f"{hit.memory.id} {hit.path}" for hit in hits] for name, hits in asked.items()}


def _got(memory: Memory, id: str) -> list[Any] | None:
    item = memory.get(id)
    if item is None:
        return None
    flags = {"pinned": item.pinned, "forgotten": item.forgotten_at is not None, "superseded": item.superseded_by}
    return [item.content, str(item.store), item.importance, [name for name, holds in flags.items() if holds]]


def _explained(memory: Memory, id: str) -> dict[str, Any]:
    told = memory.explain(id)
    return {
        "places": list(told.places),
        "superseded_by": [each.id for each in told.superseded_by],
        "history": [each["op"] for each in told.history],
    }


def _line(entry: Any) -> str:
    return f"{entry.seq} {entry.action} {entry.actor} {entry.trigger} {' '.join(entry.paths)}"


def _counted(memory: Memory) -> dict[str, Any]:
    status = memory.status()
    counts = asdict(status.counts) if status.counts else {}
    named = {
        name: getattr(status, name) for name in ("memories", "changes", "waiting", "alerts", "proposals", "reflection")
    }
    return named | {"counts": counts, "problems": dict(status.problems), "degraded": list(status.degraded)}
