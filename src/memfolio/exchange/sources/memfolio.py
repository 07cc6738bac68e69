"""What memfolio itself exported: `exchange.restore` brings it back whole, and nothing takes it over in parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memfolio.errors import InputError
from memfolio.exchange.incoming import Incoming
from memfolio.exchange.restore import is_archive


class Memfolio:
    """An export of memfolio, where somebody wants it as other sources are: that is refused."""

    name = "memfolio"

    def fits(self, path: Path) -> bool:
        """Whether the file is such an export."""
        return path.is_file() and is_archive(path)

    def count(self, path: Path) -> int:
        """Raises InputError, whatever it is."""
        if self.fits(path):
            hint = "import it without --untrusted for an agent of its own: `memfolio --agent NAME import FILE`"
            raise InputError(f"{path} can only come back as a whole, trusted as it was", hint=hint)
        raise InputError(f"{path} is nothing that memfolio exported", hint="`memfolio export FILE` makes an archive")

    def read(self, path: Path) -> Iterator[Incoming]:
        """Raises InputError, whatever it is."""
        self.count(path)
        yield from ()
