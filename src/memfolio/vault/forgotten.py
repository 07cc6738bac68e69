"""What was forgotten, taken out of older copies of a log before they can bring it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memfolio.vault.excerpt import Excerpt, cut, excerpts, memories_in
from memfolio.vault.past.rollback import PURGE, forgotten_by, is_state, lasting_lines
from memfolio.vault.paths import Form, archive_log, form_of, ledger_of
from memfolio.vault.recent import to_bytes, to_text


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The memories that nobody has called back, and those among them of which nothing may be kept."""

    ids: frozenset[str] = frozenset()
    purged: frozenset[str] = frozenset()


def forgotten_in(paths: Iterable[str], read: Callable[[str], bytes | None]) -> Forgotten:
    """What the state files among these paths say."""
    lasting = lasting_lines({path: read(path) for path in paths if is_state(path)})
    return Forgotten(forgotten_by(lasting), forgotten_by(lasting, {PURGE}))


def part(path: str, content: bytes, forgotten: Forgotten) -> tuple[bytes, list[Excerpt]]:
    """A log's content without what was forgotten, and what of that its archive may keep; other files stay whole."""
    if form_of(path) is not Form.LOG or not forgotten.ids:
        return content, []
    text = to_text(content)
    taken = excerpts(path, text, forgotten.ids)
    return to_bytes(cut(text, taken)), [each for each in taken if each.id not in forgotten.purged]


def archive_of(path: str) -> str:
    """The archive of a log; an archived log is its own."""
    return archive_log(path) if ledger_of(path) else path


def missing_from(path: str, content: bytes | None, taken: Iterable[Excerpt]) -> list[Excerpt]:
    """Those of these excerpts whose memory an archive has in no form: two of one id could not be told apart there."""
    there = memories_in(path, content)
    return list({each.id: each for each in taken if each.id not in there}.values())
