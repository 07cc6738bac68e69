"""A method asked with plain values, in a world without knowledge or with that of a real home."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

from memfolio import Memory
from memfolio.reason.inputs import Method, Result, World
from memfolio.settings import Reasoning

NOW = datetime(2026, 11, 15, 14, 30, tzinfo=UTC)
NOTHING = cast(Any, None)
BARE = World(now=NOW, settings=Reasoning(), facts=NOTHING, rules=NOTHING, inference=NOTHING, cases=NOTHING)
SHORT = World(now=NOW, settings=Reasoning(work=1000), facts=NOTHING, rules=NOTHING, inference=NOTHING, cases=NOTHING)


def knowing(m: Memory) -> World:
    return World(
        now=m.vault.home.now(),
        settings=m.vault.config.reason,
        facts=m.facts,
        rules=m.rules,
        inference=m.inference,
        cases=m.cases,
    )


def ask(method: Method, world: World = BARE, **values: Any) -> Result:
    """The result, after a look whether a person and a program can read all of it."""
    result = method(values, world)
    assert result.conclusion
    assert result.steps
    assert set(values) <= set(result.inputs)
    json.dumps([dict(result.answer), dict(result.inputs)], allow_nan=False)
    return result
