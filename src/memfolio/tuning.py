"""What can be tuned in recall, in fading and in context: every weight and switch with its default and its range.

The fields are the keys of `memfolio.toml` too: `Ranking.vector` is `recall.vector`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def _weight(default: float, doc: str, high: float = 10.0) -> Any:
    return field(default=default, metadata={"doc": doc, "low": 0.0, "high": high})


def _share(default: float, doc: str) -> Any:
    return _weight(default, doc, 1.0)


def _count(default: int, doc: str, low: int, high: int) -> Any:
    return field(default=default, metadata={"doc": doc, "low": low, "high": high})


def _switch(default: bool, doc: str) -> Any:
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How much each strategy of recall counts beside the others; a weight of 0 switches it off."""

    text: float = _weight(1.0, "How much the words count.")
    spread: float = _share(0.5, "How much of a memory's words the turn beside it has; the next one has half of that.")
    vector: float = _weight(0.5, "How much the meaning counts.")
    session: float = _weight(0.2, "How much the best words, and once more the best meaning, of a session count.")
    speaker: float = _weight(0.6, "How much it counts that somebody said it whom the question names.")
    date: float = _weight(0.6, "How much it counts that it happened when the question says.")
    owner: float = _weight(0.5, "How much counts against what a machine said, unless that is asked for.")
    told: float = _weight(0.1, "How much counts for what a machine said where that is asked for.")
    when: float = _weight(0.2, "How much it counts, where a time is asked for, that a memory tells one.")
    time: float = _weight(0.05, "How much it counts in every question that a memory tells a time.")
    name: float = _weight(0.2, "How much it counts, where somebody, something or a place is asked for, to name one.")
    number: float = _weight(0.2, "How much it counts, where a number is asked for, that a memory tells one.")
    personal: float = _weight(0.1, "How much it counts that people speak of themselves.")
    standing: float = _weight(0.2, "How much it counts that a memory says how somebody wants things from then on.")
    help: float = _weight(0.2, "How much more that counts where help is asked for.")
    entity: float = _weight(0.3, "How much it counts that a memory names a person or thing that the question names.")
    causal: float = _weight(0.3, "How much it counts, where a reason is asked for, to be cause or effect of the best.")
    temporal: float = _weight(0.1, "How much it counts, where a time is asked for, to stand before or behind the best.")
    link: float = _weight(0.5, "How much it counts, in a hop of `depth`, to be tied to a hit of the hop before.")
    digest: float = _weight(0.1, "How much it counts to lie in the time of a digest that fits.")
    procedure: float = _weight(0.2, "How much it counts, where a way to do something is asked for, to be one.")
    latest: float = _weight(0.5, "How much being recent counts where the latest is asked for.")
    recency: float = _weight(0.0, "How much being recent counts in every other question.")
    recency_days: float = field(
        default=30.0,
        metadata={"doc": "After how many days half of being recent is gone.", "low": 0.01, "high": 36500.0},
    )
    importance: float = _share(0.2, "By which share the most important ranks higher, and the least important lower.")
    confidence: float = _share(0.3, "By which share the least certain ranks lower.")
    trust: float = _share(0.1, "By which share a memory ranks lower that no person and no agent of theirs wrote.")
    expired: float = _share(0.3, "By which share a memory ranks lower that is no longer true, or not yet.")
    fading: float = _share(0.2, "By which share a fading memory ranks lower.")
    dormant: float = _share(
        1.0, "Which part of a dormant memory's score an awake one must reach to keep it out of sight."
    )
    diversity: float = _share(0.0, "How much a hit loses by being like those above it: maximal marginal relevance.")
    cut: float = _share(0.35, "The part of the best score that a hit without a word of the question must have.")
    breadth: int = _count(100, "How many candidates words bring, and how many meaning.", 10, 10_000)
    breadth_complex: int = _count(150, "The same for a question of many parts.", 10, 10_000)
    reach: int = _count(2, "How many ties of cause or time are followed from the best.", 0, 8)
    reach_complex: int = _count(4, "The same for a question of many parts.", 0, 8)
    hop_terms: int = _count(5, "How many words each hop of `depth` looks for.", 1, 32)
    hop_share: float = _share(0.25, "The share of the hits that each hop of `depth` may fill.")
    intent: bool = _switch(
        True, "Whether questions are sorted by what they ask for, such as a reason, a time or a person."
    )
    intent_threshold: float = _share(0.6, "How alike a question must be to a known one to be sorted by its meaning.")
    inline: bool = _switch(True, "Whether `type:decision` or `since:last_week` inside a question are filters.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """How memories fade: each rate is the share lost a day, and half is gone after 0.69 divided by it days."""

    episodic: float = _weight(0.0375, "How quickly events fade.")
    semantic: float = _weight(0.025, "How quickly facts fade.")
    procedural: float = _weight(0.03, "How quickly ways to do things fade.")
    opinion: float = _weight(0.03, "How quickly opinions fade.")
    explicit: float = _share(1.0, "What is remembered on purpose begins with this relevance.")
    detected: float = _share(0.7, "What is only overheard begins with this relevance.")
    inferred: float = _share(0.5, "What was concluded from other memories begins with this relevance.")
    use: float = field(
        default=10.0,
        metadata={"doc": "The more, the less being used keeps a memory awake.", "low": 1.0, "high": 1000.0},
    )
    active: float = _share(0.5, "The relevance below which a memory is fading.")
    dormant: float = _share(0.2, "The relevance below which a memory is dormant.")
    archived: float = _share(0.05, "The relevance below which a memory may be archived.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What goes into a context, and how much of it."""

    simple: int = _count(1000, "Tokens for a simple prompt where no budget is given.", 50, 1_000_000)
    complex: int = _count(3000, "Tokens for a prompt of many parts where no budget is given.", 50, 1_000_000)
    facts: float = _share(0.4, "The share of facts, decisions and preferences.")
    entities: float = _share(0.25, "The share of what is known about the people and things in question.")
    temporal: float = _share(0.25, "The share of what happened, in order.")
    evidence: float = _share(0.1, "The share of what the facts were concluded from.")
    least: float = _share(0.15, "The score below which a hit is not worth its tokens.")
    anchor: float = _share(0.45, "How much of a prompt the best hits must answer, by words and meaning, to be shown.")
    task: float = _share(0.5, "How much of its score has what only the task or the topics at hand find.")
    user: float = _weight(0.2, "By which share a memory about the user at hand ranks higher.")
    topic: float = _weight(0.1, "By which share a memory ranks higher for every topic at hand that it is about.")
    time: float = _weight(1.0, "By which share a memory of this very moment ranks higher.")
    time_days: float = field(
        default=7.0, metadata={"doc": "After how many days half of that is gone.", "low": 0.01, "high": 36500.0}
    )
