"""PDF files: the text of each page with its title and date; what cannot be read is told and stops nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfolio.exchange.sources.pdf import Pdf
from memfolio.exchange.take_in import take_in
from memfolio.memory import Memory

pypdf = pytest.importorskip("pypdf")


def document(
    pages: list[str], info: str = "/Title (Deep Work) /Author (Ada) /CreationDate (D:20240501120000Z)"
) -> bytes:
    """A PDF with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * nth} 0 R" for nth in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for nth, text in enumerate(pages):
        fonts = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 300 300]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {fonts} /Contents {5 + 2 * nth} 0 R >>")
        drawn = f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET" if text else ""
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    objects.append(f"<< {info} >>")
    body, places = "%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    trailer = f"trailer << /Size {size} /Root 1 0 R /Info {len(objects)} 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


def test_each_page_becomes_a_memory_with_title_page_and_date(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "book.pdf"
    path.write_bytes(document(["Attention is scarce", "", "Rest is work"]))
    assert Pdf().fits(path)
    with Memory.open(home, background=False, speaker="owner") as memory:
        report = take_in(memory, Pdf(), path)
        assert (report.taken, report.flaws) == (2, [])
        first, last = sorted(memory.vault.entries("main"), key=lambda item: item.attributes["page"])
        path.rename(tmp_path / "renamed.pdf")
        assert take_in(memory, Pdf(), tmp_path / "renamed.pdf").known == 2
        assert memory.recall("attention scarce")[0].memory.id == first.id
    assert (first.content, last.content) == ("Attention is scarce", "Rest is work")
    assert first.event_time == datetime(2024, 5, 1, 12, tzinfo=UTC)
    told = {name: last.attributes[name] for name in ("title", "page", "pages", "author", "file")}
    assert told == {"title": "Deep Work", "page": 3, "pages": 3, "author": "Ada", "file": "book.pdf"}


def test_bad_files_do_not_stop_the_good_one(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "papers" / "deep"
    folder.mkdir(parents=True)
    (folder / "good.pdf").write_bytes(document(["All is well"], info=""))
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4\nnothing else")
    (folder / "empty.pdf").write_bytes(b"")
    (folder / "blank.pdf").write_bytes(document([""]))
    (folder / "date.pdf").write_bytes(document(["No date"], info="/CreationDate (yesterday)"))
    writer = pypdf.PdfWriter(clone_from=folder / "good.pdf")
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(folder / "locked.pdf")
    with Memory.open(home, background=False, speaker="owner") as memory:
        report = take_in(memory, Pdf(), tmp_path / "papers")
        assert {item.content for item in memory.vault.entries("main")} == {"All is well", "No date"}
    assert {flaw.ref for flaw in report.flaws} == {f"deep/{name}.pdf" for name in ("bad", "blank", "empty", "locked")}
    assert not Pdf().fits(tmp_path / "nowhere")
