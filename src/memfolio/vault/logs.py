"""The memories in daily logs, read from the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date, tzinfo

from memfolio.types import MemoryItem
from memfolio.vault.format.log import read_log
from memfolio.vault.paths import Form, agent_of, agent_root, day_of, form_of, ledger_of
from memfolio.vault.recent import to_text


def logs_of(files: Iterable[str], agent: str, day: date | None) -> list[str]:
    """Those of the files that are an agent's daily logs, of one day or of all."""
    root = f"{agent_root(agent)}/memory/"
    logs = [path for path in files if path.startswith(root) and ledger_of(path)]
    return [path for path in logs if form_of(path) is Form.LOG and day in (None, day_of(path))]


def entries_in(path: str, read: Callable[[str], bytes | None], zone: tzinfo) -> Iterator[MemoryItem]:
    """The memories in a log, in the order in which they stand there; a name that is no real date has none."""
    day, agent = day_of(path), agent_of(path)
    if day is not None and agent is not None:
        reading = read_log(to_text(read(path) or b""), day=day, tz=zone, agent=agent)
        yield from (found.entry.item for found in reading.entries)
