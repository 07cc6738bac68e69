"""Workspaces as other programs leave them, small and real."""

from __future__ import annotations

import json
from pathlib import Path

EPISODES = """\
# 2026-02-02 — Episode Log

## 14:30 | decision | confidence:high | tags:[memory, architecture]
Chose the hybrid approach with the user.

## 15:45 | preference | confidence:medium | tags:[workflow] | source:user-explicit
User prefers brainstorming before implementation.
"""
DEPLOY = """\
# how-to-deploy.md

<!-- Type: procedure | Learned: 2026-01-25 | Last used: 2026-01-30 -->

## Trigger
When user asks to deploy.

## Steps
1. Run the test suite first
2. Deploy to staging
"""
INDEX = """\
# Semantic Graph Index

## Entity Registry
| ID | Type | Label | File | Decay Score |
|----|------|-------|------|-------------|
| person--alex | person | Alex | entities/person--alex.md | 1.00 (pinned) |

## Edges
| From | Relation | To | Confidence | First Seen | Last Accessed |
|------|----------|----|------------|------------|---------------|
| person--alex | prefers | concept--brainstorm-first | high | 2026-02-02 | 2026-02-02 |
"""
PENDING = """\
# Pending Memory Proposals

<!-- Sub-agents append proposals here. Main agent reviews and commits. -->

---
## Proposal #1
- **From**: researcher
- **Timestamp**: 2026-02-03T10:00:00Z
- **Suggested store**: semantic
- **Content**: User prefers academic sources
- **Status**: pending

---
## Proposal #2
- **From**: coder
- **Content**: User wants tests written first
- **Status**: pending
"""
PLAYBOOKS = """\
# Playbooks

## Close the month

### Steps

1. Collect receipts
2. Post them

## Onboard a vendor

- Ask who it is

1. Check the tax number
2. Create the record
"""
PROCEDURAL = """\
# Procedural Memory

> Version: 1.0

## Skills

### Email Processing

#### Skill: Process Gmail Inbox

**Version**: 1.2

**Procedure**:

1. **Authenticate**
   ```python
   # Check OAuth token validity
   ```
2. **Fetch Emails**

---

### Voice Handling

#### Skill: Handle Incoming Twilio Call

**Procedure**:

1. **Answer Call**
"""
EPISODIC = """\
# Episodic Memory

## Recent Episodes (Last 7 Days)

### Episode: 2025-01-16-001

**Timestamp**: 2025-01-16 09:15:23 EST
**Type**: User Interaction
**Importance**: High
**Embedding**: [vector:768]

**Event**:
User asked: "Check my calendar for today"

---

### Episode: 2025-01-16-002

**Timestamp**: 2025-01-16 14:30:15 EST
**Type**: System Event
**Importance**: Medium

**Event**:
Gmail API returned rate limit error (429)

---

## Episode Index

| Date | ID |
|------|-----|
| 2025-01-16 | 001 |
"""
STORE = {
    "working": [],
    "short_term": [
        {"id": "M-1708800000000-a3f2", "content": "Looking at the Q1 budget", "type": "observation",
         "importance": 0.4, "source": "bdi-cycle", "tags": ["budget"], "created_at": "2026-02-24T10:00:00Z",
         "accessed_at": "2026-02-24T11:00:00Z", "access_count": 2}
    ],
    "long_term": [
        {"id": "M-1708700000000-b1c2", "content": "Cash flow is reviewed weekly", "type": "lesson",
         "importance": 0.9, "source": "manual", "tags": ["finance"], "created_at": "2026-02-20T09:30:00Z",
         "accessed_at": "2026-02-20T09:30:00Z", "access_count": 0}
    ],
    "version": 3,
}  # fmt: skip
FACTS = {"facts": [
    {"id": "F-1-aaaa", "subject": "acme", "predicate": "hasRevenue", "object": "50000", "confidence": 0.9,
     "source": "cfo-report", "valid_from": "2026-01-01", "created_at": "2026-01-02T00:00:00Z",
     "derived_from": ["F-0-cccc"], "rule_id": "R-001"},
    {"id": "F-2-bbbb", "subject": "acme", "predicate": "isCompetitorOf"},
], "version": 2}  # fmt: skip
RULES = [
    {"id": "R-001", "name": "big", "description": "", "type": "inference",
     "conditions": [{"subject": "?x", "predicate": "hasRevenue", "object": "?y"}],
     "conclusion": {"subject": "?x", "predicate": "hasCustomers", "object": "yes"},
     "confidence_factor": 0.9, "enabled": True, "created_at": "2026-01-01T00:00:00Z"},
]  # fmt: skip
CASES = [
    {"case_id": "C-001", "situation": {"beliefs": ["b1"], "desires": ["d1"], "context": "late invoice"},
     "solution": {"plan_id": "p1", "actions": ["call"]}, "outcome": {"success": True, "lessons": "call early"},
     "stored_at": "2026-01-05T00:00:00Z"},
]  # fmt: skip


def write(root: Path, files: dict[str, object]) -> Path:
    """A folder with these files; what is no text is written as JSON."""
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    return root


def openclaw(root: Path) -> Path:
    files: dict[str, object] = {
        "MEMORY.md": "# Memory\n\n- Alex is the owner\n",
        "USER.md": "# User\n\nAlex, Berlin\n",
        "SOUL.md": "# Soul\n\nBe kind.\n",
        "IDENTITY.md": "# Identity\n\nMolty\n",
        "memory/2026-01-15.md": "# 2026-01-15\n\n- [09:30] Bought a lathe <!-- importance: 7 -->\n- Called the bank\n",
        "memory/2026-01-16-fix-login.md": "Fixed the login with a retry.\n",
        "memory/projects.md": "# Projects\n\nThe greenhouse\n",
        "code/README.md": "# Not memory\n",
    }
    return write(root, files)


def mabos(root: Path) -> Path:
    agent: dict[str, object] = {
        "agent.json": {"id": "cfo"},
        "memory-store.json": STORE,
        "facts.json": FACTS,
        "rules.json": RULES,
        "cases.json": CASES,
        "Beliefs.md": "# Beliefs\n\n## Cash is short\nCertainty: 0.8\n\nWe have three months.\n",
        "Memory.md": "An old log\n",
        "MEMORY.md": "# Memory\n\n- The CFO of Acme\n",
        "Knowledge.md": "# Knowledge\n\nKept by hand.\n\n## Taxes\n\nDue in May.\n\n## Taxes\n\nPaid.\n",
        "Playbooks.md": PLAYBOOKS,
        "memory/2026-02-24.md": "# 2026-02-24\n\n- Met the auditor\n",
        "memory/mabos-facts.md": "copies\n",
        "memory/weekly/2026-W08.md": "# 2026-W08\n\nA calm week\n",
        "memory/bdi-conflicts/2026-02-24.md": "# Conflict\n\nGoal against belief\n",
    }
    return write(root, {f"agents/cfo/{name}": content for name, content in agent.items()})


def moltbot(root: Path) -> Path:
    files: dict[str, object] = {
        "MEMORY.md": "# MEMORY.md — Core Memory\n\n## Identity\n- Alex\n",
        "memory/episodes/2026-02-02.md": EPISODES,
        "memory/graph/index.md": INDEX,
        "memory/graph/entities/person--alex.md": "# person--alex\n\n## Facts\n- Likes tea\n",
        "memory/procedures/how-to-deploy.md": DEPLOY,
        "memory/vault/wedding.md": "# Wedding\n\nThe third of May\n",
        "memory/meta/evolution.md": "# Evolution\n\nFrom lists to stories\n",
        "memory/meta/reflection-log.md": "# Reflections\n\nThe first one\n",
        "memory/meta/pending-memories.md": PENDING,
        "memory/meta/decay-scores.json": {"person--alex": 1.0},
    }
    return write(root, files)


def spec(root: Path) -> Path:
    files: dict[str, object] = {
        "memory/MEMORY.md": "# Long-Term Memory\n\n- Prefers mornings\n",
        "memory/SEMANTIC.md": "# Semantic Memory\n\n## Facts\n\n- Gmail allows 250 units\n",
        "memory/PROCEDURAL.md": PROCEDURAL,
        "memory/EPISODIC.md": EPISODIC,
        "memory/USER.md": "# User\n",
        "memory/2025-01-16.md": "# Daily Log: 2025-01-16\n\n## Events\n\n- **[09:15]** User asked about calendar\n",
        "memory/archive/2024-12/2024-12-31.md": "- Fireworks\n",
        "sessions/2025-01-16-morning-check.md": "# Morning check\n\nAll green\n",
        "index/cache.json": {"a": 1},
        "config/memory.yaml": "retention: 30\n",
    }
    return write(root, files)


def claude_code(root: Path) -> Path:
    folder = ".claude/projects/-home-alex-shop/memory"
    files: dict[str, object] = {
        f"{folder}/MEMORY.md": "- [Tests](testing.md) how to run them\n",
        f"{folder}/testing.md": "---\nname: testing\ntype: feedback\n---\nRun `make quick` first.\n",
        ".claude/projects/-home-alex-shop/log.jsonl": {"a": 1},
    }
    write(root, files)
    return root / ".claude"


def obsidian(root: Path) -> Path:
    files: dict[str, object] = {
        ".obsidian/app.json": {},
        "Garden/Tomatoes.md": "---\ntags: [garden, food]\ncreated: 2023-04-01\n---\nSee [[Compost]] #summer\n",
        "Garden/Compost: how?.md": "# Compost\n\nTurn it weekly. See [[Tomatoes]]\n",
        "Daily/2024-03-09.md": "---\ntags: [day]\n---\n- Sowed the tomatoes\n- [18:20] Rain at last\n",
        ".trash/gone.md": "gone\n",
    }
    return write(root, files)
