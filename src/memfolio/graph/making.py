"""What the graph needs of those who make its changes and of those who look things up."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from memfolio.index.index import Index
from memfolio.types import Approval, Attribution
from memfolio.vault.change import Change, Receipt
from memfolio.vault.paths import agent_root
from memfolio.vault.vault import Vault

GROWER = Attribution(actor="system:tend", approval=Approval.AUTO, trigger="graph")


class Maker(Protocol):
    """Makes changes, or only shows them: `tend.hand.Hand` is one."""

    vault: Vault
    agent: str
    now: datetime
    notes: list[str]

    def make(self, change: Change) -> Receipt | None: ...


class Shelf(Protocol):
    """What an agent may read: `recall.library.Library` is one."""

    index: Index

    def indexes(self) -> list[Index]: ...


def graph_folder(agent: str) -> str:
    return f"{agent_root(agent)}/memory/graph"
