"""Core memory under the policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memfolio.errors import PolicyError
from memfolio.govern.gate import Gate
from memfolio.govern.proposable import proposable
from memfolio.govern.proposals.proposal import Intent, Proposal
from memfolio.policy import Deed
from memfolio.stores.core import BY, Core, CoreEdit
from memfolio.types import Attribution, Origin


class GovernedCore(Core):
    """Core memory whose edits are proposed where the policy wants somebody's leave."""

    def __init__(
        self, *args: Any, gate: Gate, propose: Callable[[Intent, PolicyError], Proposal], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._gate, self._propose = gate, propose

    add = proposable("core.add")(Core.add)
    replace = proposable("core.replace")(Core.replace)
    remove = proposable("core.remove")(Core.remove)
    rewrite = proposable("core.rewrite")(Core.rewrite)
    unpin = proposable("core.unpin")(Core.unpin)

    @proposable("core.pin")
    def pin(self, what: str, *, by: Attribution = BY, dry_run: bool = False) -> CoreEdit:
        """See `Core.pin`; only who may confirm a stranger's words brings them always before an agent's eyes."""
        found = self._find(what.strip()) if self._find else None
        if found and found.item.origin is Origin.UNTRUSTED:
            self._gate.check(Deed.CONFIRM, by, Origin.UNTRUSTED)
        return super().pin(what, by=by, dry_run=dry_run)
