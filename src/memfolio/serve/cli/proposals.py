"""Commands about what waits for somebody's leave: propose, and what is proposed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import PERSON, Answer, Options, read_text
from memfolio.serve.cli.output import Screen, fields_of
from memfolio.serve.cli.typed import read_importance
from memfolio.types import MemoryItem

if TYPE_CHECKING:
    from memfolio.govern.proposal import Proposal


def propose(
    options: Options,
    text: str,
    type: str = "observation",
    importance: str = "0.5",
    tag: list[str] | None = None,
    store: str = "long_term",
    kind: str | None = None,
    confidence: str | None = None,
    to: str | None = None,
) -> Answer:
    from memfolio.govern.proposal import read_value

    given: dict[str, Any] = {"type": type, "tags": tag, "store": store, "kind": kind}
    given |= {"importance": read_importance(importance)}
    given |= {"confidence": read_value("confidence", confidence) if confidence else None}
    with options.memory() as memory:
        proposal = memory.propose(read_text(text), to=to, by=PERSON, **given)

    made = proposal.made

    def draw(screen: Screen) -> None:
        if isinstance(made, MemoryItem):
            screen.say(f"{proposal.id} was committed at once, as {made.id}", "bold")
            return
        screen.say(f"{proposal.id} waits for {proposal.to} (hash {proposal.shown})", "bold")
        screen.say(f"`memfolio --agent {proposal.to} approve {proposal.id}` does it", "dim")

    return Answer(document(proposal) | ({"status": "committed"} if made else {}), draw)


def proposals(options: Options, id: str | None = None, /, defer: str | None = None, every: bool = False) -> Answer:
    with options.memory() as memory:
        now, agent = memory.vault.home.now(), memory.agent
        if defer:
            put_off = memory.proposals.defer(defer, by=PERSON)
            how = f"`memfolio proposals --all` lists it, `memfolio approve {defer}` takes it up again"
            return Answer(document(put_off), lambda screen: screen.say(f"{defer} was put off; {how}"))
        if id:
            proposal = memory.proposals.get(id)
            page = memory.vault.page(proposal.path)
            told = f"{page.text if page else ''}\nhash {proposal.shown}, {proposal.path}"
            return Answer(document(proposal), lambda screen: screen.say(told))
        found, broken = memory.proposals.pending(all=every), [each.message for each in memory.proposals.broken()]

    def draw(screen: Screen) -> None:
        options.tell(broken)
        for each in found:
            screen.say(each.title, "bold")
            screen.say(f"  {each.id}, hash {each.shown}")
            to = f" to {each.to}" if each.to != agent else ""
            screen.say(f"  from {each.proposer}{to}, {_age(now - each.at)} ago, {each.status}", "dim")
        if not found:
            screen.say("Nothing waits for approval.", "dim")

    return Answer({"proposals": [document(each) for each in found], "broken": broken}, draw)


def document(proposal: Proposal) -> dict[str, Any]:
    """A proposal for programs."""
    told = fields_of(proposal) | {"title": proposal.title, "path": proposal.path, "hash": proposal.shown}
    return {name: value for name, value in told.items() if value not in (None, "")}


def _age(span: timedelta) -> str:
    minutes = max(0, span // timedelta(minutes=1))
    return f"{span.days}d" if span.days > 0 else f"{minutes // 60}h" if minutes >= 60 else f"{minutes}m"
