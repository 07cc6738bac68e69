"""The page of a day's conflicts: statements that cannot both be true, for a person to decide."""

from __future__ import annotations

from collections.abc import Sequence

from memfolio.learn.resolve import Clash, Known
from memfolio.tend.hand import Hand
from memfolio.vault.change import PutPage
from memfolio.vault.format.fields import local
from memfolio.vault.paths import agent_root


def conflict_page(hand: Hand, clashes: Sequence[Clash]) -> PutPage:
    """The page of the day with these conflicts below what it has."""
    day = f"{local(hand.now, hand.vault.home.zone):%Y-%m-%d}"
    path = f"{agent_root(hand.agent)}/memory/conflicts/{day}.md"
    page = hand.vault.page(path)
    before = page.text.rstrip("\n") if page else f"# Conflicts found on {day}"
    text = "\n\n".join([before, *(_section(clash, hand) for clash in clashes)]) + "\n"
    return PutPage(path, text.encode("utf-8", "replace"), page.hash if page else None)


def _section(clash: Clash, hand: Hand) -> str:
    title = " ".join(f"{clash.new.subject}: {clash.new.predicate}".split()).replace("_", " ")
    return "\n".join(
        [
            f"## {title}",
            "",
            _line(clash.old, hand),
            _line(clash.new, hand),
            "",
            "Both are kept. Say which is right: `memfolio forget` the wrong one, or `memfolio correct` it.",
        ]
    )


def _line(known: Known, hand: Hand) -> str:
    where = f" ({known.ref})" if isinstance(known.ref, str) else ""
    return f"- {local(known.at, hand.vault.home.zone):%Y-%m-%d}: {' '.join(known.text.split())}{where}"
