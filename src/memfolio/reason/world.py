"""What a method may look at beside what it is given: what the agent knows, the time, and how far it may go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memfolio.knowledge.cases import Cases
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.inference import Inference
from memfolio.knowledge.rules import Rules
from memfolio.tuning import Reasoning


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The rooms of knowledge; a method that needs none of them never touches it."""

    now: datetime
    settings: Reasoning
    facts: Facts
    rules: Rules
    inference: Inference
    cases: Cases
