"""The page of a day's conflicts: statements that cannot both be true, for a person to decide."""

from __future__ import annotations

from collections.abc import Sequence

from memfolio.learn.resolve import Clash, Known, Reference, Resolution
from memfolio.tend.digest.compose import inline
from memfolio.tend.hand import Hand
from memfolio.types import MemoryItem
from memfolio.vault.change import NewId, PutPage
from memfolio.vault.format.fields import local
from memfolio.vault.paths import agent_root

ASK = """Both are kept. Which is right? Forget the other one by the id behind it (`memfolio forget ID`). Of the newer
one that is the turn that says it; what was learned from that turn alone is forgotten with it."""


def conflict_page(hand: Hand, resolution: Resolution, turns: Sequence[MemoryItem]) -> PutPage:
    """The page of the day with these conflicts below what it has."""
    day = f"{local(hand.now, hand.vault.home.zone):%Y-%m-%d}"
    path = f"{agent_root(hand.agent)}/memory/conflicts/{day}.md"
    page = hand.vault.page(path)
    before = page.text.rstrip("\n") if page else f"# Conflicts found on {day}\n\n{ASK}"
    sections = (_section(clash, hand, resolution, turns) for clash in resolution.contradicting)
    text = "\n\n".join([before, *sections]) + "\n"
    return PutPage(path, text.encode("utf-8", "replace"), page.hash if page else None)


def _section(clash: Clash, hand: Hand, resolution: Resolution, turns: Sequence[MemoryItem]) -> str:
    title = inline(f"{clash.new.subject}: {clash.new.predicate}".replace("_", " "))
    told = (_line(known, _cited(known.ref, resolution, turns), hand) for known in (clash.old, clash.new))
    return "\n".join([f"## {title}", "", *told])


def _line(known: Known, cited: str, hand: Hand) -> str:
    return f"- {local(known.at, hand.vault.home.zone):%Y-%m-%d}: {inline(known.text)} ({cited})"


def _cited(ref: Reference, resolution: Resolution, turns: Sequence[MemoryItem]) -> str:
    """An id to forget it by; of what has none yet that of the turn that says it."""
    return turns[resolution.kept[ref.index].turns[-1]].id if isinstance(ref, NewId) else ref
