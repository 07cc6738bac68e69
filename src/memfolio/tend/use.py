"""Being used: what was opened or cited keeps a memory awake; what was only found does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from memfolio.state import Op
from memfolio.types import Attribution
from memfolio.vault.change import Receipt
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault


def used(vault: Vault, agent: str, ids: Iterable[str], by: Attribution) -> Receipt | None:
    """Note that these memories of an agent were used, as one change; who is named twice was used twice."""
    counts = Counter(ids)
    records = [{"op": Op.ACCESS.value, "memory": each, "count": count} for each, count in counts.items()]
    return vault.add_lines(state_ledger(agent), records, by) if records else None
