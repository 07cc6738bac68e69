"""What was concluded and what came of it: results are kept as memories, and scored when their outcome is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from memfolio.errors import InputError, NotFoundError
from memfolio.index.records import records
from memfolio.reason.given import number_in
from memfolio.reason.methods import methods
from memfolio.reason.result import Result
from memfolio.reason.router import UNKNOWN
from memfolio.recall.library import Library
from memfolio.types import Action, Attribution, Kind, Type, check_attribution
from memfolio.vault.change import AddLines, Change, NewId
from memfolio.vault.format.draft import Draft, check_text
from memfolio.vault.paths import Form, Ledger, agent_root
from memfolio.vault.vault import Vault

Forecasts = list[tuple[float, float]]
THINKER = Attribution(actor="bot:reason", trigger="reason")
DOUBT = 5
"""So many results at chance level count beside those of a method: a few hits prove little."""
LONG = 2_000
"""How much of a problem and of a conclusion is kept, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A conclusion that was kept; `came_true` is None as long as nobody said."""

    id: str
    method: str
    confidence: float | None
    memory: str
    at: str
    came_true: float | None = None


class Judgements:
    """The judgements of one agent; the ledger has ids and numbers only, what they say is in the memories."""

    def __init__(self, vault: Vault, library: Library, agent: str) -> None:
        self._vault = vault
        self._library = library
        self._agent = agent
        self._ledger = Ledger(f"{agent_root(agent)}/knowledge/judgements", Form.LINES)

    def keep(self, result: Result, by: Attribution = THINKER) -> Judgement:
        """Keep a conclusion as a memory with a line that waits for its outcome, as one change."""
        if not result.conclusion.strip():
            raise InputError("nothing was concluded", hint="work through the steps and keep what you conclude")
        line = {"op": "judge", "method": result.method, "confidence": result.confidence, "memory": NewId(0)}
        beside = (AddLines(self._ledger, (line,), "J"),)
        receipt = self._vault.add(self._agent, [_draft(result)], check_attribution(by), beside=beside)
        return self.get(receipt.items[0].id)

    def outcome(self, id: str, came_true: bool | float, by: Attribution = THINKER) -> Judgement:
        """Say whether a judgement, named by its id or that of its memory, came true, or how far; the latest counts."""
        found = self.get(id)
        value = float(came_true) if isinstance(came_true, bool) else number_in("came_true", came_true, 0, 1)
        line = {"op": "outcome", "judgement": found.id, "came_true": value}
        added = AddLines(self._ledger, (line,), "J")
        self._vault.apply(Change(operations=(added,), by=check_attribution(by), action=Action.APPEND))
        return self.get(found.id)

    def get(self, id: str) -> Judgement:
        found = next((each for each in self.list() if str(id).strip() in (each.id, each.memory)), None)
        if found is None:
            raise NotFoundError(f"there is no judgement {str(id)[:80]!r}", hint="name its id, or that of its memory")
        return found

    def list(self) -> Sequence[Judgement]:
        """All judgements, oldest first; lines that make no sense are passed over."""
        lines = self._library.index.read(lambda connection: records(connection, "judgements"))
        outcomes = (line for line in lines if line.get("op") == "outcome")
        shares = {str(line.get("judgement")): _share(line.get("came_true")) for line in outcomes}
        return [
            Judgement(
                id=str(line["id"]),
                method=str(line.get("method")),
                confidence=_share(line.get("confidence")),
                memory=str(line.get("memory")),
                at=str(line["at"]),
                came_true=shares.get(str(line["id"])),
            )
            for line in lines
            if line.get("op") == "judge"
        ]

    def forecasts(self) -> dict[str, Forecasts]:
        """By method, how sure each judgement was and what came of it, where both are known."""
        found: dict[str, Forecasts] = defaultdict(list)
        for each in self.list():
            if each.confidence is not None and each.came_true is not None:
                found[each.method].append((each.confidence, each.came_true))
        return dict(sorted(found.items()))

    def standing(self) -> dict[str, float]:
        """How well the judgements of each method came true: 1 - the Brier score, drawn towards chance by few."""
        return {
            name: 1 - (sum((sure - came) ** 2 for sure, came in each) + DOUBT * (1 - UNKNOWN)) / (len(each) + DOUBT)
            for name, each in self.forecasts().items()
        }


def _draft(result: Result) -> Draft:
    """A conclusion as a memory; one that nobody computed, or that rests on a model's estimates, is an opinion.

    Method and conclusion are one sentence: one that many memories share would look like what is left of a purged one.
    """
    method = methods().get(result.method)
    given = " given its inputs" if result.computed else ""
    sure = "" if result.confidence is None else f", {result.confidence:.0%} sure{given}"
    problem = f"{result.problem.strip()[:LONG]} – " if result.problem.strip() else ""
    return Draft(
        content=check_text(f"{problem}by {result.method}{sure}: {result.conclusion.strip()[:LONG]}"),
        type=Type.DECISION if method and method.settles == "choice" else Type.OBSERVATION,
        kind=Kind.SEMANTIC if result.computed and not result.filled_by else Kind.OPINION,
        confidence=1.0 if result.confidence is None else result.confidence,
        tags=(f"reasoning/{result.method}",),
        source="reason",
        attributes={"method": result.method, "confidence": result.confidence},
    )


def _share(value: object) -> float | None:
    is_share = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if is_share else None  # type: ignore[arg-type]
