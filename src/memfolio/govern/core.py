"""Core memory under the policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memfolio.errors import PolicyError
from memfolio.govern.proposable import proposable
from memfolio.govern.proposals.proposal import Intent, Proposal
from memfolio.stores.core import Core


class GovernedCore(Core):
    """Core memory whose edits are proposed where the policy wants somebody's leave."""

    def __init__(self, *args: Any, propose: Callable[[Intent, PolicyError], Proposal], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._propose = propose

    add = proposable("core.add")(Core.add)
    replace = proposable("core.replace")(Core.replace)
    remove = proposable("core.remove")(Core.remove)
    rewrite = proposable("core.rewrite")(Core.rewrite)
    pin = proposable("core.pin")(Core.pin)
    unpin = proposable("core.unpin")(Core.unpin)
