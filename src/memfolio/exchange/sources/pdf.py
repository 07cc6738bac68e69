"""PDF files: the text of each page, as pypdf finds it. Pictures of text have none."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.errors import InputError, MemfolioError
from memfolio.exchange.reading import ImportedMemory, ImportProblem, Incoming
from memfolio.exchange.sources.json_source import text_in
from memfolio.machine import install_command

if TYPE_CHECKING:
    from pypdf import DocumentInformation, PdfReader

MOST_BYTES = 256 << 20
MOST_PAGES = 10_000
BROKEN = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, OSError)
INSTALL = f"install it with `{install_command('pdf')}`"


class Pdf:
    """Every page becomes a memory with the title, the file and its number; a file is known by what is in it."""

    name = "pdf"

    def fits(self, path: Path) -> bool:
        """Whether it is such a file, or a folder that has any at its top."""
        try:
            return next(iter(_files(path)), None) is not None
        except OSError:
            return False

    def count(self, path: Path) -> int:
        """About how many pages there are, by the sizes of the files."""
        _broken()
        return sum(1 + each.stat().st_size // 50_000 for each in _files(path))

    def read(self, path: Path) -> Iterator[Incoming]:
        """The pages of one file after another."""
        _broken()
        for file in _files(path):
            name = file.name if file == path else file.relative_to(path).as_posix()
            try:
                yield from _pages(file, name)
            except (InputError, OSError) as error:
                yield ImportProblem(ref=name, why=str(error))


def _broken() -> tuple[type[Exception], ...]:
    """What pypdf raises for files that are not as they should be."""
    try:
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError as error:
        raise MemfolioError("the library for PDF files is not installed", hint=INSTALL) from error
    return PyPdfError, DependencyError, *BROKEN


def _files(path: Path) -> Iterator[Path]:
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    return (each for each in found if each.suffix.lower() == ".pdf" and each.is_file() and not each.is_symlink())


def _pages(file: Path, name: str) -> Iterator[Incoming]:
    content = file.read_bytes() if file.stat().st_size <= MOST_BYTES else b""
    if not content:
        raise InputError(f"it is empty, or has more than {MOST_BYTES:,} bytes")
    mark, is_empty = sha256(content).hexdigest()[:16], True
    reader, about = _opened(content)
    title, many = text_in(about.title if about else None) or Path(name).stem, len(reader.pages)
    author, at = text_in(about.author if about else None) or None, _written(about)
    for number in range(1, min(many, MOST_PAGES) + 1):
        try:
            text = text_in(reader.pages[number - 1].extract_text())
        except _broken() as error:
            yield ImportProblem(ref=f"{name} page {number}", why=f"it cannot be read: {error}")
            continue
        if text:
            is_empty, attributes = False, {"title": title, "file": name, "page": number, "pages": many}
            fields = {"type": "fact", "attributes": attributes}
            yield ImportedMemory(ref=f"{mark}/{number}", content=text, at=at, author=author, fields=fields)
    if is_empty:
        yield ImportProblem(ref=name, why="it has no text; scanned pages must go through text recognition first")
    if many > MOST_PAGES:
        yield ImportProblem(ref=name, why=f"it has {many:,} pages, of which {MOST_PAGES:,} were read")


def _opened(content: bytes) -> tuple[PdfReader, DocumentInformation | None]:
    from pypdf import PdfReader

    try:
        reader = PdfReader(BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError("it is locked with a password")
        return reader, reader.metadata if len(reader.pages) else None
    except _broken() as error:
        raise error if isinstance(error, InputError) else InputError(f"it cannot be read: {error}") from error


def _written(about: DocumentInformation | None) -> datetime | None:
    """When the document was made, else changed; a date without a zone is taken for UTC."""
    try:
        found = (about.creation_date or about.modification_date) if about else None
    except (ValueError, TypeError):
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
